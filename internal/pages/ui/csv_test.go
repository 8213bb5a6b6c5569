package ui_test

import (
	"testing"

	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/testkit/expect"
)

// TestCSVText checks that no spreadsheet finds a formula in text from outside, with whatever separator it reads the
// file.
func TestCSVText(t *testing.T) {
	expect.Results(t, ui.CSVText, map[string]string{
		"":             "",
		"SKU-7; a = b": "SKU-7; a = b",
		"a-b@c":        "a-b@c",
		"=1+1":         "'=1+1",
		"+1":           "'+1",
		"-1":           "'-1",
		"@SUM(A1)":     "'@SUM(A1)",
		"\t=1":         "'\t'=1",
		"\r=1":         "'\r'=1",
		"\n=1":         "'\n'=1",
		"＝1+1":         "'＝1+1",
		"＋1":           "'＋1",
		"－1":           "'－1",
		"＠A1":          "'＠A1",
		";=1+1":        ";'=1+1",
		"a;  =1":       "a;  '=1",
		"a\n-2":        "a\n'-2",
		`"=1`:          `"'=1`,
		" =1":          " '=1",
	})
}
