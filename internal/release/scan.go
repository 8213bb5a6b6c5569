package release

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
)

// Finding is what looks like a secret in a file. The secret itself is not repeated.
type Finding struct {
	File string
	Line int
	Kind string
}

func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Kind) }

// shapes are the forms of secrets. Those of our own keys and tokens end in a checksum, which tells them from examples.
var shapes = []struct {
	kind string
	form *regexp.Regexp
	real func(match string) bool
}{
	{"API key", regexp.MustCompile(`assay_(?:live|test)_[0-9A-Za-z]{38}`), func(s string) bool {
		_, ok := access.ParseSecretKey(s)
		return ok
	}},
	{"desk token", regexp.MustCompile(`assay_staff_[0-9A-Za-z]{38}`), access.ValidStaffToken},
	{"private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{16}`), always},
	{"AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), random},
	{"GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{60,})`), random},
	{"GitLab token", regexp.MustCompile(`\bglpat-[0-9A-Za-z_-]{20,}`), random},
	{"Slack token", regexp.MustCompile(`\bxox[abprs]-[0-9A-Za-z-]{20,}`), random},
	{"Stripe key", regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{20,}`), random},
	{"Google key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}\b`), random},
	{"npm or PyPI token", regexp.MustCompile(`\b(?:npm_[0-9A-Za-z]{36}|pypi-[0-9A-Za-z_-]{50,})`), random},
	{"signed token", regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{17,}\.eyJ[0-9A-Za-z_-]{17,}\.[0-9A-Za-z_-]{20,}`), always},
}

func always(string) bool { return true }

// random reports whether the characters are as different as those of a secret; those of examples are not.
func random(s string) bool {
	if strings.Contains(strings.ToUpper(s), "EXAMPLE") {
		return false
	}
	count := map[rune]float64{}
	for _, r := range s {
		count[r]++
	}
	entropy := 0.0
	for _, n := range count {
		p := n / float64(len(s))
		entropy -= p * math.Log2(p)
	}
	return entropy > 3
}

// allowed are files whose findings are known, and why.
var allowed = map[string]string{}

// Scan searches what git knows of a folder for secrets.
func Scan(ctx context.Context, root string) ([]Finding, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, withOutput(err)
	}
	var found []Finding
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, ok := allowed[name]; ok {
			continue
		}
		content, err := os.ReadFile(filepath.Join(filepath.Clean(root), name)) //nolint:gosec // as git names it
		if os.IsNotExist(err) {                                                // deleted, and not committed yet
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, scanFile(name, content)...)
	}
	return found, nil
}

func scanFile(name string, content []byte) (found []Finding) {
	for _, shape := range shapes {
		for _, at := range shape.form.FindAllIndex(content, -1) {
			if shape.real(string(content[at[0]:at[1]])) {
				found = append(found, Finding{name, 1 + bytes.Count(content[:at[0]], []byte("\n")), shape.kind})
			}
		}
	}
	return found
}
