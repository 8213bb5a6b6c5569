package e2e_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestHead checks that HEAD is answered wherever GET is, with the same status and type and no body.
func TestHead(t *testing.T) {
	t.Parallel()
	s := start(t, program.Settings{})
	c := s.client(t, s.open(t).Test)
	photo := upload(t, c, 1)[0]
	draft := tote(photo)
	draft.MockOutcome = client.MockAuthentic
	created, err := c.CreateOrder(t.Context(), draft)
	if err != nil {
		t.Fatal(err)
	}
	detail, err := c.GetOrder(t.Context(), created.ID)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pathOf(t, *detail.CertificateURL)
	for _, path := range []string{
		"/", "/docs", "/docs/desk", "/docs/openapi.json", "/docs/openapi-3.0.json", "/docs/openapi.yaml", "/docs/desk.json",
		"/docs/desk.yaml", "/portal/sign-in", "/desk/sign-in", "/nothing", pathOf(t, photo),
		certificate, certificate + ".json", certificate + ".pdf", "/.well-known/assay-certificate-keys.json",
		"/v1/integrations/openapi.json", "/v1/integrations/openapi-3.0.json",
	} {
		var answers [2]*answer
		for i, method := range []string{http.MethodGet, http.MethodHead} {
			request, err := http.NewRequestWithContext(t.Context(), method, s.URL(path), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answers[i] = send(t, http.DefaultClient, request)
		}
		get, head := answers[0], answers[1]
		if head.StatusCode != get.StatusCode || len(head.body) > 0 ||
			head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("%s: GET is %d %s, HEAD %d %s with %d bytes", path, get.StatusCode, get.Header.Get("Content-Type"),
				head.StatusCode,
				head.Header.Get("Content-Type"), len(head.body))
		}
	}
}

func pathOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}
