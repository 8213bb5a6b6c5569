package pagetest

import (
	"html"
	"regexp"
	"testing"
)

var (
	secretPattern   = regexp.MustCompile(`data-copy="([A-Z2-7]{16,})"`)
	sealedPattern   = regexp.MustCompile(`name="sealed" value="([^"]+)"`)
	recoveryPattern = regexp.MustCompile(`<li><code>([0-9a-z-]{19})</code></li>`)
)

// NewFactor returns what the page that sets up a second factor shows: its secret, and the same sealed for the form.
func (p *Page) NewFactor(t testing.TB) (secret, sealed string) {
	t.Helper()
	shown, hidden := secretPattern.FindStringSubmatch(p.Body), sealedPattern.FindStringSubmatch(p.Body)
	if shown == nil || hidden == nil {
		t.Fatalf("no second factor is set up\n%s", p.Body)
	}
	return shown[1], html.UnescapeString(hidden[1])
}

// RecoveryCodes returns the ten codes that the page shows.
func (p *Page) RecoveryCodes(t testing.TB) []string {
	t.Helper()
	var codes []string
	for _, m := range recoveryPattern.FindAllStringSubmatch(p.Body, -1) {
		codes = append(codes, m[1])
	}
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes\n%s", len(codes), p.Body)
	}
	return codes
}
