package ui

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"time"
)

// maxCookieValue is what a signed cookie may hold; browsers take about 4,000 bytes.
const maxCookieValue = 2500

// cookieName is the name under which a cookie is kept. Over TLS it has the prefix that binds it to this very host and
// to secure connections: a neighbouring host cannot plant one.
func (s *Site) cookieName(r *http.Request, name string) string {
	if s.overTLS(r) {
		return "__Host-" + name
	}
	return name
}

// setCookie keeps a value in the browser; an empty one is forgotten.
func (s *Site) setCookie(w http.ResponseWriter, r *http.Request, name, value string, maxAge time.Duration) {
	age := int(maxAge / time.Second)
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // secure wherever the connection is
		Name: name, Value: value, Path: "/", MaxAge: age, Secure: s.overTLS(r), HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	})
}

// SetSigned gives the browser a value to keep for a short while, which it can read but not change: the user who has
// given the right password and now owes the second factor, say. An empty value takes the cookie back.
func (s *Site) SetSigned(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	if len(value) > maxCookieValue {
		return
	}
	if value != "" {
		data := binary.BigEndian.AppendUint64(nil, uint64(s.Now().Add(life).Unix())) //nolint:gosec // 1970 is past
		data = append(data, value...)
		value = base64.RawURLEncoding.EncodeToString(append(data, s.signature(name, data)...))
	}
	s.setCookie(w, r, s.cookieName(r, name), value, life)
}

// Signed returns what SetSigned has kept under the name, unless its time is over or somebody has changed it.
func (s *Site) Signed(r *http.Request, name string) (string, bool) {
	c, err := r.Cookie(s.cookieName(r, name))
	if err != nil {
		return "", false
	}
	data, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(data) < 8+sha256.Size {
		return "", false
	}
	data, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if !hmac.Equal(sum, s.signature(name, data)) {
		return "", false
	}
	if until := binary.BigEndian.Uint64(data); s.Now().Unix() >= int64(until) { //nolint:gosec // signed by us
		return "", false
	}
	return string(data[8:]), true
}

// signature binds the value to the name of its cookie.
func (s *Site) signature(name string, data []byte) []byte {
	mac := hmac.New(sha256.New, s.cookies)
	mac.Write([]byte(strings.ToLower(name) + "\x00"))
	mac.Write(data)
	return mac.Sum(nil)
}
