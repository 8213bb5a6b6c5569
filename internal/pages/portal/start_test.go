package portal_test

import (
	"net/http"
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
	w.Order(t, w.Test, order.MockAuthentic)
	w.key(t, access.Test) // of somebody else
	v.Get("/portal/test").Want(t, http.StatusOK, "New to this account?", "/portal/start")
	viewer.Get("/portal/test").Want(t, http.StatusOK).Lacks(t, "New to this account?")
	viewer.Get("/portal/start").Want(t, http.StatusOK, "/v1/integrations/me").Lacks(t, "/portal/keys/new")
	v.Get("/portal/start").Want(t, http.StatusOK, "/portal/keys/new", "/v1/integrations/me", "assay listen").
		Lacks(t, ">Done<", "Vault 7")
	v.Post("/portal/keys", "name", "Mine", "environment", "test", "scopes", "orders:read", "scopes", "webhooks:manage").
		Want(t, http.StatusOK)
	v.Get("/portal/start").Want(t, http.StatusOK, "Mine", "Done").Lacks(t, "/portal/keys/new")
	w.Clock.Advance(15 * 24 * time.Hour)
	w.AsUser(t, w.Developer).Get("/portal/test").Want(t, http.StatusOK).Lacks(t, "New to this account?")
}
