package portal_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// TestStart leads a new developer through an account that others have used for long.
func TestStart(t *testing.T) {
	w := newWorld(t)
	v, viewer := w.AsUser(t, w.Developer), w.AsUser(t, w.Viewer)
	v.Get("/portal/test").Want(t, http.StatusOK, "Create an API key").Lacks(t, "New to this account?")
	v.Get("/portal/start").Want(t, http.StatusOK).Lacks(t, ">Done<")
	w.Order(t, w.Test, order.MockAuthentic)
	done := func(want int, step string) {
		t.Helper()
		page := v.Get("/portal/start").Want(t, http.StatusOK)
		marked := regexp.MustCompile(step + ` <span[^>]*>(<[^>]*>)*Done<`)
		if !marked.MatchString(page.Body) || strings.Count(page.Body, ">Done<") != want {
			t.Errorf("%s is not done, or not %d steps are:\n%s", step, want, page.Body)
		}
	}
	done(1, "Create a Test order")
	w.key(t, access.Test) // of somebody else
	v.Get("/portal/test").Want(t, http.StatusOK, "New to this account?", "/portal/start")
	viewer.Get("/portal/test").Want(t, http.StatusOK).Lacks(t, "New to this account?")
	viewer.Get("/portal/start").Want(t, http.StatusOK, "/v1/integrations/me").Lacks(t, "/portal/keys/new")
	v.Get("/portal/start").Want(t, http.StatusOK, "/portal/keys/new", "/v1/integrations/me", "assay listen").
		Lacks(t, "Vault 7")
	v.Post("/portal/keys", "name", "Mine", "environment", "test", "scopes", "orders:read", "scopes", "webhooks:manage").
		Want(t, http.StatusOK)
	v.Get("/portal/start").Want(t, http.StatusOK, "Mine").Lacks(t, "/portal/keys/new")
	done(2, "Create a Test key of your own")
	w.Clock.Advance(15 * 24 * time.Hour)
	w.AsUser(t, w.Developer).Get("/portal/test").Want(t, http.StatusOK).Lacks(t, "New to this account?")
}
