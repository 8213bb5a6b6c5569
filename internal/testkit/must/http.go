package must

import (
	"io"
	"net/http"
	"testing"
)

// Request returns a request that ends with the test.
func Request(t testing.TB, method, address string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	NoError(t, err)
	return r
}

// Do sends a request and reads the answer to its end.
func Do(t testing.TB, through *http.Client, request *http.Request) (*http.Response, []byte) {
	t.Helper()
	response, err := through.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: read the answer: %v", request.Method, request.URL, err)
	}
	_ = response.Body.Close() // it was read to its end
	return response, body
}

// Get fetches an address and reads the answer to its end.
func Get(t testing.TB, through *http.Client, address string) (*http.Response, []byte) {
	t.Helper()
	return Do(t, through, Request(t, http.MethodGet, address, http.NoBody))
}
