package integration_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// operations are the operations of the contract: scope and rate-limit category as the pages for integrators list them,
// and a request that is right in form.
var operations = []struct {
	method, path    string
	scope, category string
	send            request
}{
	{"GET", "/catalog/categories", "", "catalog", request{Method: "GET", Path: "/catalog/categories"}},
	{"GET", "/catalog/brands", "", "catalog", request{Method: "GET", Path: "/catalog/brands"}},
	{
		"GET", "/catalog/models", "", "catalog",
		request{Method: "GET", Path: "/catalog/models?brand_code=chanel&category_code=bags"},
	},
	{
		"GET", "/catalog/answer_times", "", "catalog",
		request{Method: "GET", Path: "/catalog/answer_times?brand_code=chanel&category_code=bags"},
	},
	{
		"GET", "/catalog/photo_indexes", "", "catalog",
		request{Method: "GET", Path: "/catalog/photo_indexes?category_code=bags"},
	},
	{"POST", "/photos", "orders:write", "upload", request{Method: "POST", Path: "/photos", Body: "x"}},
	{"GET", "/balance", "", "read", request{Method: "GET", Path: "/balance"}},
	{"POST", "/orders", "orders:write", "create", request{Method: "POST", Path: "/orders", Body: "{}"}},
	{"GET", "/orders", "orders:read", "read", request{Method: "GET", Path: "/orders"}},
	{"GET", "/orders/{id}", "orders:read", "read", request{Method: "GET", Path: "/orders/none"}},
	{
		"POST", "/orders/{id}/update_photos", "orders:write", "update",
		request{Method: "POST", Path: "/orders/none/update_photos", Body: "{}"},
	},
	{
		"POST", "/orders/{id}/cancel", "orders:write", "update",
		request{Method: "POST", Path: "/orders/none/cancel", Body: "{}"},
	},
	{
		"POST", "/orders/{id}/simulate", "orders:write", "update",
		request{Method: "POST", Path: "/orders/none/simulate", Body: `{"state":"fake"}`},
	},
	{
		"POST", "/quote", "", "catalog",
		request{Method: "POST", Path: "/quote", Body: `{"brand_code":"chanel","category_code":"bags"}`},
	},
	{"GET", "/me", "", "read", request{Method: "GET", Path: "/me"}},
	{"GET", "/events", "orders:read", "read", request{Method: "GET", Path: "/events"}},
	{"POST", "/capture_links", "orders:write", "create", request{Method: "POST", Path: "/capture_links", Body: "{}"}},
	{"GET", "/capture_links/{id}", "orders:read", "read", request{Method: "GET", Path: "/capture_links/none"}},
	{"DELETE", "/capture_links/{id}", "orders:write", "update", request{Method: "DELETE", Path: "/capture_links/none"}},
	{"GET", "/audit/events", "audit:read", "read", request{Method: "GET", Path: "/audit/events"}},
	{"POST", "/webhooks", "webhooks:manage", "webhook", request{Method: "POST", Path: "/webhooks", Body: "{}"}},
	{"GET", "/webhooks", "webhooks:manage", "webhook", request{Method: "GET", Path: "/webhooks"}},
	{"DELETE", "/webhooks/{id}", "webhooks:manage", "webhook", request{Method: "DELETE", Path: "/webhooks/none"}},
	{
		"PATCH", "/webhooks/{id}", "webhooks:manage", "webhook", request{Method: "PATCH", Path: "/webhooks/none", Body: "{}"},
	},
	{
		"POST", "/webhooks/{id}/rotate_secret", "webhooks:manage", "webhook",
		request{Method: "POST", Path: "/webhooks/none/rotate_secret", Body: "{}"},
	},
}

// TestRoutes checks the table of operations, the OpenAPI document and the contract against each other.
func TestRoutes(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		contract := make([]string, 0, len(operations))
		for _, op := range operations {
			contract = append(contract, strings.Join([]string{op.method, op.path, op.scope, op.category}, " "))
		}
		slices.Sort(contract)

		t.Run("Table", func(t *testing.T) {
			var table []string
			for _, r := range w.API.Routes() {
				table = append(table, strings.Join([]string{r.Method, r.Path, string(r.Scope), r.Category}, " "))
			}
			slices.Sort(table)
			if !slices.Equal(table, contract) {
				t.Errorf("the table is\n%s\nnot\n%s", strings.Join(table, "\n"), strings.Join(contract, "\n"))
			}
		})
		t.Run("Document", func(t *testing.T) {
			var document []string
			for _, r := range w.Routes() {
				if r.Public { // the document itself
					continue
				}
				document = append(document, strings.Join([]string{r.Method, r.Path, r.Scope, r.Category}, " "))
			}
			slices.Sort(document)
			if !slices.Equal(document, contract) {
				t.Errorf("the document has\n%s\nnot\n%s", strings.Join(document, "\n"), strings.Join(contract, "\n"))
			}
		})
		t.Run("EveryOperationAnswers", func(t *testing.T) {
			c := w.Test(t)
			for _, op := range operations {
				if r := c.Send(t, op.send); r.Status == http.StatusNotFound &&
					!strings.Contains(string(r.Body), "order-not-found") {
					t.Errorf("%s %s is not there: %s", op.method, op.path, r.Body)
				}
			}
		})
		t.Run("UnknownRoute", func(t *testing.T) {
			c := w.Test(t)
			for _, path := range []string{
				"", "/", "/nothing", "/orders/", "/orders/a/b", "/orders/a/update_photos/", "/orders//update_photos",
				"/catalog", "/catalog/", "/catalog/colors", "//orders", "/orders/../orders", "/./orders", "/Orders", "/ORDERS",
				"/orders;x=1", "/%6frders", "/catalog%2fbrands", "/webhooks/", "/audit",
			} {
				r := c.Get(t, path)
				r.Refused(t, 404, "not-found")
				wantNoQuota(t, r)
			}
		})
		t.Run("UnknownMethod", func(t *testing.T) {
			c := w.Test(t)
			for _, op := range operations {
				for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"} {
					if slices.ContainsFunc(w.API.Routes(), func(r integration.Route) bool {
						return r.Method == method && r.Path == op.path
					}) {
						continue
					}
					r := c.Send(t, request{Method: method, Path: strings.Replace(op.path, "{id}", "x", 1)})
					r.Refused(t, 404, "not-found")
					wantNoQuota(t, r)
				}
			}
		})
		t.Run("Unauthenticated", func(t *testing.T) {
			for _, path := range []string{"/orders", "/nothing", "/orders/a/b", ""} {
				for _, method := range []string{"GET", "PUT"} {
					w.Anonymous().Send(t, request{Method: method, Path: path}).Refused(t, 401, "unauthorized")
				}
			}
		})
		t.Run("HeadIsGetWithoutBody", func(t *testing.T) {
			c := w.Test(t)
			paths := []string{"/openapi.json", "/openapi-3.0.json"}
			for _, op := range operations {
				if op.method == "GET" {
					paths = append(paths, op.send.Path)
				}
			}
			for _, path := range paths {
				get, head := c.Get(t, path), c.Send(t, request{Method: "HEAD", Path: path})
				if head.Status != get.Status || len(head.Body) != 0 ||
					head.Header.Get("Content-Length") != strconv.Itoa(len(get.Body)) ||
					head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
					t.Errorf("HEAD of %s answered %d with %d bytes and %v", path, head.Status, len(head.Body), head.Header)
				}
			}
			w.Anonymous().Send(t, request{Method: "HEAD", Path: "/openapi.json"}).Want(t, 200)
			if r := w.Anonymous().Send(t, request{Method: "HEAD", Path: "/orders"}); r.Status != 401 {
				t.Errorf("HEAD without a key answered %d", r.Status)
			}
		})
		t.Run("Allow", func(t *testing.T) {
			c := w.Test(t)
			for path, want := range map[string]string{
				"/orders": "GET, HEAD, POST", "/orders/x/update_photos": "POST", "/balance": "GET, HEAD",
				"/openapi.json": "GET, HEAD", "/nothing": "", "/orders/a/b": "",
			} {
				r := c.Send(t, request{Method: "PUT", Path: path})
				r.Refused(t, 404, "not-found")
				if got := r.Header.Get("Allow"); got != want {
					t.Errorf("%s allows %q, not %q", path, got, want)
				}
				if got := w.Anonymous().Send(t, request{Method: "PUT", Path: path}).Header.Get("Allow"); got != "" {
					t.Errorf("%s tells %q without a key", path, got)
				}
			}
		})
		t.Run("DocumentsNameTheServer", func(t *testing.T) {
			for _, path := range []string{"/openapi.json", "/openapi-3.0.json"} {
				w.Anonymous().Get(t, path).Want(t, 200).
					Is(t, "servers", []any{obj{"url": integrationtest.PublicURL + "/v1/integrations"}})
			}
		})
	})
}

func wantNoQuota(t *testing.T, r *integrationtest.Response) {
	t.Helper()
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") {
			t.Errorf("%s: header %s on an answer that costs no quota", r.Request, name)
		}
	}
}

// TestScopes checks that each operation asks for its scope and no other.
func TestScopes(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("EachOperationNeedsItsScope", func(t *testing.T) {
			for _, op := range operations {
				if op.scope == "" {
					continue
				}
				others := slices.DeleteFunc(slices.Clone(access.AllScopes), func(s access.Scope) bool {
					return string(s) == op.scope
				})
				r := account.Test(t, integrationtest.Scopes(others...)).Send(t, op.send)
				r.Refused(t, 403, "forbidden").Is(t, "details", obj{"required_scope": op.scope})
			}
		})
		t.Run("ItsScopeIsEnough", func(t *testing.T) {
			for _, op := range operations {
				if op.scope == "" {
					continue
				}
				if r := account.Test(t, integrationtest.Scopes(access.Scope(op.scope))).Send(t, op.send); r.Status == 403 {
					t.Errorf("%s %s with %s is forbidden", op.method, op.path, op.scope)
				}
			}
		})
		t.Run("CatalogAndBalanceNeedNone", func(t *testing.T) {
			c := account.Test(t, integrationtest.Scopes(access.AuditRead))
			for _, op := range operations {
				if op.scope == "" {
					c.Send(t, op.send).Want(t, 200)
				}
			}
		})
	})
}

// TestVersion checks that the API is version 1 by its prefix.
func TestVersion(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		t.Run("Prefix", func(t *testing.T) {
			e := w.Test(t).Get(t, "/nothing").Refused(t, 404, "not-found")
			if want := "/v1/integrations/nothing"; e.Path != want {
				t.Errorf("the path is %s, not %s", e.Path, want)
			}
		})
	})
}
