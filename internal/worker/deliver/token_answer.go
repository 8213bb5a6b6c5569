package deliver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
)

const (
	maxTokenAnswer = 1 << 20  // of the response of a token URL, in bytes
	maxToken       = 64 << 10 // of an access token: no receiver takes a longer header
)

// tokenRequest is the client-credentials grant: id and secret are sent as HTTP Basic, form-encoded (RFC 6749, 2.3.1).
func tokenRequest(ctx context.Context, o *webhook.OAuth, clientSecret string) (*http.Request, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if o.Scope != "" {
		form.Set("scope", o.Scope)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", formType)
	r.Header.Set("User-Agent", userAgent)
	r.SetBasicAuth(url.QueryEscape(o.ClientID), url.QueryEscape(clientSecret))
	return r, nil
}

const formType = "application/x-www-form-urlencoded"

// tokenFailures tell why a token URL gave no answer.
var tokenFailures = map[webhook.Failure]string{
	webhook.FailureTimeout:      "timeout: the token URL did not answer in time",
	webhook.FailureUnresolvable: "unresolvable: the host of the token URL has no address",
	webhook.FailureUnsafe:       "unsafe-address: the address of the token URL must not be called",
	webhook.FailureConnection:   "connection: the token URL refused or broke the connection, or did not speak HTTP",
	webhook.FailureTLS:          "tls: the token URL has no trusted certificate, or does not speak TLS",
}

// grant is what a token response gives.
type grant struct {
	value    string
	lifetime time.Duration
}

// readToken returns the token of a response, or a line that says why there is none. All that counts is a status of
// success and an access_token. failed is the error that ended the body.
func readToken(r *http.Response, body []byte, failed error) (g grant, problem string) {
	status := strings.TrimSpace("HTTP " + strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode))
	switch {
	case r.StatusCode >= 300 && r.StatusCode <= 399:
		return g, status + ": redirects are not followed"
	case r.StatusCode < 200 || r.StatusCode > 299:
		return g, status
	case failed != nil && timedOut(failed):
		return g, status + ": the response did not end in time"
	case failed != nil:
		return g, status + ": the response broke off"
	case len(body) > maxTokenAnswer:
		return g, status + ": the response is longer than 1 MiB"
	}
	value, expires, ok := parseToken(r.Header.Get("Content-Type"), body)
	switch {
	case !ok:
		return g, status + ": the response is not JSON"
	case value == "":
		return g, status + ": no access_token in the response"
	case len(value) > maxToken:
		return g, status + ": the access_token is longer than 64 KiB"
	case !sendable(value):
		return g, status + ": the access_token has characters that no header can carry"
	}
	return grant{value, lifetime(expires)}, ""
}

// parseToken reads JSON, whatever its content type says, and a form where the content type says so.
func parseToken(contentType string, body []byte) (value, expires string, ok bool) {
	var object struct {
		AccessToken json.RawMessage `json:"access_token"`
		ExpiresIn   json.RawMessage `json:"expires_in"`
	}
	if json.Unmarshal(body, &object) == nil {
		_ = json.Unmarshal(object.AccessToken, &value) // what is not a string is no token
		return value, strings.Trim(string(object.ExpiresIn), `"`), true
	}
	if media, _, _ := mime.ParseMediaType(contentType); media != formType {
		return "", "", false
	}
	form, err := url.ParseQuery(string(body))
	return form.Get("access_token"), form.Get("expires_in"), err == nil
}

// lifetime reads expires_in: seconds, as a whole number or not. A token that has none left is for one delivery.
func lifetime(expires string) time.Duration {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(expires), 64)
	if err != nil || math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return unknownLifetime
	}
	return time.Duration(max(0, min(seconds, math.MaxInt32)) * float64(time.Second))
}

// sendable reports whether the token is visible ASCII.
func sendable(token string) bool {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return false
		}
	}
	return token != ""
}

// tokenValues finds values of tokens and secrets, in JSON, in a form or in text about them. It rather takes too much:
// of a value that is an object or a list, all that follows.
var tokenValues = regexp.MustCompile(`(?is)((?:(?:access|refresh|id)_?token[^:=\s]{0,8}\s*[:=]|` +
	`(?:token|secret)\\?"\s*:)\s*)(?:"(?:[^"\\]|\\.)*"?|[\[{].*|[^\s,]+)|()eyJ[\w-]+\.[\w-]+\.[\w-]*`)

const mask = "••••••"

// withoutSecrets returns the text of a response in which tokens, and the client's secret should it be repeated, are
// masked.
func withoutSecrets(body []byte, o *webhook.OAuth, clientSecret string) string {
	text := string(body)
	escaped := url.QueryEscape(clientSecret)
	basic := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(o.ClientID) + ":" + escaped))
	for _, s := range []string{basic, clientSecret, escaped} {
		if s != "" {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	return tokenValues.ReplaceAllString(text, "${1}"+mask)
}
