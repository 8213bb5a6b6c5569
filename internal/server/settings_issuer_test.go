package server

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIssuerSettings(t *testing.T) {
	text := filepath.Join(t.TempDir(), "logo.png")
	if err := os.WriteFile(text, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		set  IssuerSettings
		want string // in the refusal; empty: none
	}{
		"None":     {IssuerSettings{}, ""},
		"Name":     {IssuerSettings{IssuerName: "Kyoto Appraisal"}, ""},
		"TwoLines": {IssuerSettings{IssuerName: "Kyoto\nAppraisal"}, "--issuer-name must be one line"},
		"Long": {
			IssuerSettings{IssuerName: "K", IssuerAddress: strings.Repeat("x", 201)}, "--issuer-address must be one line",
		},
		"NoName":    {IssuerSettings{IssuerAddress: "1-2 Nakagyo"}, "need --issuer-name"},
		"NoFile":    {IssuerSettings{IssuerName: "K", IssuerLogo: text + "x"}, "--issuer-logo: "},
		"NoPicture": {IssuerSettings{IssuerName: "K", IssuerLogo: text}, "the file is no PNG or JPEG"},
	} {
		t.Run(name, func(t *testing.T) {
			var s Settings
			s.Bind(flag.NewFlagSet("", flag.ContinueOnError))
			s.IssuerSettings = tt.set
			err := s.Check()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("refused with %v, want %q", err, tt.want)
			}
		})
	}
}
