package httpx

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

// TestFail_BodyIsRead: many clients look for the answer only after they have sent everything.
func TestFail_BodyIsRead(t *testing.T) {
	p, _ := testResponder()
	for name, tt := range map[string]struct {
		size, left int
		expect     string
	}{
		"Ordinary": {2 << 20, 0, ""},
		"Huge":     {MaxDrain + 1<<20, 1 << 20, ""},
		"Waiting":  {2 << 20, 2 << 20, "100-continue"},
	} {
		body := bytes.NewReader(make([]byte, tt.size))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
		r.Header.Set("Expect", tt.expect)
		w := httptest.NewRecorder()
		p.Fail(Record(w), r, fault.BadRequest("No."))
		if w.Code != http.StatusBadRequest || body.Len() != tt.left {
			t.Errorf("%s: %d, %d bytes left", name, w.Code, body.Len())
		}
	}
}
