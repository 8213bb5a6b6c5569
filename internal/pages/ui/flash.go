package ui

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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
