package ui_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
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

// TestCSVJSON checks the same for JSON, and that it is the same value.
func TestCSVJSON(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`{}`, `{}`},
		{`{"a-b":-1,"c":"d=e; f"}`, `{"a-b":-1,"c":"d=e; f"}`},
		{`{"name":"x;=cmd|' /C calc'!A0"}`, `{"name":"x;\u003dcmd|' /C calc'!A0"}`},
		{`{"=1":["+1","-1","@A1",[-1]]}`, `{"\u003d1":["\u002b1","\u002d1","\u0040A1",[-1]]}`},
		{`["＝1","＋1","－1","＠A1","a;  =1"]`, `["\uff1d1","\uff0b1","\uff0d1","\uff20A1","a;  \u003d1"]`},
		{`["\t=1","\"=1","\\;=1"]`, `["\t=1","\"\u003d1","\\;\u003d1"]`},
	} {
		var value, again any
		must.NoError(t, json.Unmarshal([]byte(c.value), &value))
		got, err := ui.CSVJSON(value)
		must.NoError(t, err)
		expect.Equal(t, c.value, got, c.want)
		must.NoError(t, json.Unmarshal([]byte(got), &again))
		if !reflect.DeepEqual(again, value) {
			t.Errorf("%s is %v, want %v", got, again, value)
		}
	}
}
