package requires_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/requires"
)

// verdict is a testing.TB that records how a test ended instead of ending it.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper() {}

func (v *verdict) Skipf(format string, arguments ...any) {
	v.skipped = fmt.Sprintf(format, arguments...)
}

func (v *verdict) Fatal(arguments ...any) {
	v.failed = fmt.Sprint(arguments...)
}

func TestProgram(t *testing.T) {
	const missing = "no-such-program-anywhere"
	tests := []struct {
		name           string
		fast           string
		programs       []string
		wantPath       bool
		wantSkip, fail string
	}{
		{name: "Installed", programs: []string{"sh"}, wantPath: true},
		{name: "SecondChoice", programs: []string{missing, "sh"}, wantPath: true},
		{name: "Missing", programs: []string{missing, missing + "2"}, fail: "install the Debian package some-package"},
		{name: "Fast", fast: "1", programs: []string{missing}, wantSkip: "needs " + missing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("ASSAY_TEST_FAST", tt.fast)
			recorder := &verdict{TB: t}
			path := requires.Program(recorder, "some-package", tt.programs...)
			if tt.wantPath != strings.HasSuffix(path, "/sh") {
				t.Errorf("path %q", path)
			}
			if !strings.Contains(recorder.skipped, tt.wantSkip) || (tt.wantSkip == "" && recorder.skipped != "") {
				t.Errorf("skipped with %q, want %q", recorder.skipped, tt.wantSkip)
			}
			if tt.fast == "" && !strings.Contains(recorder.failed, tt.fail) {
				t.Errorf("failed with %q, want %q", recorder.failed, tt.fail)
			}
		})
	}
}

func TestFast(t *testing.T) {
	t.Setenv("ASSAY_TEST_FAST", "1")
	if !requires.Fast() {
		t.Error("ASSAY_TEST_FAST=1 is not the fast run")
	}
	t.Setenv("ASSAY_TEST_FAST", "")
	if requires.Fast() {
		t.Error("an empty ASSAY_TEST_FAST is the fast run")
	}
}
