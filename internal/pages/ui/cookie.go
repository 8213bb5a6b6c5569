package ui

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
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

const (
	flashCookie = "assay_flash"
	flashLife   = time.Minute
)

// Tone is how a message, a badge or a mark is meant.
type Tone string

// The tones.
const (
	Neutral Tone = "neutral"
	Info    Tone = "info"
	Good    Tone = "good"
	Warn    Tone = "warn"
	Bad     Tone = "bad"
)

// Flash is a message that is shown once, on the page after a form was sent.
type Flash struct {
	Tone Tone           `json:"t"`
	Key  string         `json:"k"`
	Args map[string]any `json:"a,omitempty"`

	Text string `json:"-"` // set for the template
}

// Done says that something has been done. args are pairs, as of {{t}}.
func Done(key string, args ...any) Flash { return flash(Good, key, args) }

// Note says something the visitor should know.
func Note(key string, args ...any) Flash { return flash(Info, key, args) }

// Failed says that something could not be done.
func Failed(key string, args ...any) Flash { return flash(Bad, key, args) }

func flash(tone Tone, key string, pairs []any) Flash {
	f := Flash{Tone: tone, Key: key}
	for i := 0; i+1 < len(pairs); i += 2 {
		if f.Args == nil {
			f.Args = make(map[string]any)
		}
		f.Args[display(pairs[i])] = display(pairs[i+1])
	}
	return f
}

// Redirect answers a form that was sent with the page to show next, and messages to show there.
func (s *Site) Redirect(w http.ResponseWriter, r *http.Request, to string, flashes ...Flash) error {
	if len(flashes) > 0 {
		data, err := json.Marshal(flashes)
		if err != nil {
			return err
		}
		s.SetSigned(w, r, flashCookie, string(data), flashLife)
	}
	http.Redirect(w, r, SafeNext(to, "/"), http.StatusSeeOther)
	return nil
}

// takeFlashes returns the messages that wait for this visitor and forgets them.
func (s *Site) takeFlashes(w http.ResponseWriter, r *http.Request) []Flash {
	value, ok := s.Signed(r, flashCookie)
	if !ok {
		return nil
	}
	s.SetSigned(w, r, flashCookie, "", 0)
	var flashes []Flash
	if json.Unmarshal([]byte(value), &flashes) != nil {
		return nil
	}
	for i := range flashes {
		f := &flashes[i]
		var pairs []any
		for name, v := range f.Args {
			pairs = append(pairs, name, v)
		}
		f.Text = s.T(r, f.Key, pairs...)
	}
	return flashes
}

// SafeNext returns next when it is an address on this site, else the fallback: a link from elsewhere must not be able
// to send a visitor on to elsewhere.
func SafeNext(next, fallback string) string {
	u, err := url.Parse(next)
	switch {
	case err != nil, u.Scheme != "", u.Host != "", u.User != nil, u.Opaque != "", !strings.HasPrefix(next, "/"):
	case strings.HasPrefix(next, "//"), strings.ContainsAny(next, "\\\r\n\t\x00"), strings.HasPrefix(u.Path, "//"):
	default:
		return next
	}
	return fallback
}
