package ui_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestWriteCSV checks that a file begins with what tells Excel that it is UTF-8, and that nothing is sent where it
// fails at once.
func TestWriteCSV(t *testing.T) {
	w := httptest.NewRecorder()
	err := ui.WriteCSV(w, "orders.csv", []string{"order", "note"}, func(write func(...string) error) error {
		return write("AS-1", "写真, 2")
	})
	if want := "\xef\xbb\xbforder,note\nAS-1,\"写真, 2\"\n"; err != nil || w.Body.String() != want {
		t.Errorf("%q, %v", w.Body, err)
	}
	w, failure := httptest.NewRecorder(), errors.New("no database")
	err = ui.WriteCSV(w, "orders.csv", []string{"order"}, func(func(...string) error) error { return failure })
	if !errors.Is(err, failure) || w.Body.Len() > 0 {
		t.Errorf("%q, %v", w.Body, err)
	}
}

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
