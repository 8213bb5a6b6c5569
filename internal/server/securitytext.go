package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// securityTextPath is where people who have found a hole look for whom to tell (RFC 9116).
const securityTextPath = "/.well-known/security.txt"

// securityTextAge is for how long the file says that it holds; it must be less than a year, and is made anew every day.
const securityTextAge = 180 * 24 * time.Hour

// securityText answers with the contact of the operator.
func securityText(contact, publicURL string, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		expires := now().UTC().Truncate(24 * time.Hour).Add(securityTextAge)
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "public, max-age=86400")
		_, _ = io.WriteString(w, fmt.Sprintf( // a client that is gone is no failure
			"Contact: %s\nExpires: %s\nPreferred-Languages: en, ja\nCanonical: %s\n",
			contact, expires.Format(time.RFC3339), strings.TrimSuffix(publicURL, "/")+securityTextPath))
	})
}
