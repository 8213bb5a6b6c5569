package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestSecurityText checks the file that tells whom to report holes to (RFC 9116).
func TestSecurityText(t *testing.T) {
	now := time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)
	answer := httptest.NewRecorder()
	securityText("mailto:security@example.org", "https://assay.example/", func() time.Time { return now }).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, securityTextPath, http.NoBody))
	want := "Contact: mailto:security@example.org\nExpires: 2030-11-02T00:00:00Z\nPreferred-Languages: en, ja\n" +
		"Canonical: https://assay.example/.well-known/security.txt\n"
	if got := answer.Body.String(); got != want || answer.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%v\n%s", answer.Header(), got)
	}
}

func TestSafetySettings(t *testing.T) {
	for contact, ok := range map[string]bool{
		"": true, "mailto:security@example.org": true, "https://example.org/report": true, "tel:+81-3-0000-0000": true,
		"security@example.org": false, "http://example.org": false, "mailto:": false, "https://": false,
		"mailto:a@b\nContact: x": false, "mailto:a b": false,
	} {
		var problems []string
		s := SafetySettings{SecurityContact: contact}
		s.check(func(format string, _ ...any) { problems = append(problems, format) })
		if (len(problems) == 0) != ok {
			t.Errorf("%q: %s", contact, strings.Join(problems, "; "))
		}
	}
}
