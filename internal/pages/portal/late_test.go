package portal_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/latebody"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// postLate sends a form to a page. What happens meanwhile does so after the server has read the headers.
func postLate(
	t *testing.T, w *world, v *pagetest.Visitor, path, contentType, body string, meanwhile func(),
) *http.Response {
	t.Helper()
	header := http.Header{"Content-Type": {contentType}, "Origin": {w.Server.URL}}
	for _, c := range v.Cookies {
		header.Add("Cookie", c.String())
	}
	return latebody.Post(t, w.Server.Config.Handler, w.Server.URL+path, body, header, meanwhile)
}

const urlEncoded = "application/x-www-form-urlencoded"

// TestLateForms: a form does nothing when the session that sends it has ended before it has come in, whatever page it
// is for.
func TestLateForms(t *testing.T) {
	w := newWorld(t)
	roles := w.Portal.Patterns()
	id := regexp.MustCompile(`\{\w+\}`)
	open := regexp.MustCompile(`^/desk/(sign-|forgot|join|reset)`)
	for _, pattern := range slices.Concat(patternsOf(w), w.Desk.Patterns(), w.Admin.Patterns()) {
		path, ok := strings.CutPrefix(pattern, "POST ")
		if role, ofPortal := roles[pattern]; !ok || ofPortal && role == "" || open.MatchString(path) {
			continue
		}
		audience, who, v := access.Portal, w.Owner.ID, w.AsUser(t, w.Owner)
		if strings.HasPrefix(path, "/desk") {
			audience, who, v = access.Desk, w.Aoi.ID, w.AsStaff(t, w.Aoi)
			path = id.ReplaceAllLiteralString(path, uuid7.New())
		} else {
			path = w.target(t, pattern)
		}
		answer := postLate(t, w, v, path, urlEncoded, "name=late", func() {
			must.NoError(t, w.Service.RevokeSessions(t.Context(), audience, who, "", access.Origin{}))
		})
		if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther ||
			!strings.HasPrefix(to, "/"+string(audience)+"/sign-in") {
			t.Errorf("%s: %d to %q, want the page to sign in", pattern, answer.StatusCode, to)
		}
	}
}

// TestLateForms_Role: nor when the person has another role by then.
func TestLateForms_Role(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	answer := postLate(t, w, v, "/portal/keys", urlEncoded, "name=late&environment=test&scopes=orders", func() {
		must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
			return tx.SetUserRole(w.Account.ID, w.Developer.ID, access.Viewer)
		}))
	})
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %d, want 403", answer.StatusCode)
	}
}

// TestLateUploads: files are no exception.
func TestLateUploads(t *testing.T) {
	w := newWorld(t)
	id := w.orderIn(t, access.Test)
	body, kind := formWithFiles(t, nil, map[string][]byte{"photo.overall-picture": pictures.GrayPNG(300, 200)})
	answer := postLate(t, w, w.AsUser(t, w.Developer), "/portal/test/orders/"+id+"/photos", kind, body, func() {
		must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
			return tx.RemoveUser(w.Account.ID, w.Developer.ID, w.Clock.Now())
		}))
	})
	if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(answer.Header.Get("Location"), "/portal/sign-in") {
		t.Errorf("photos: %d to %q", answer.StatusCode, answer.Header.Get("Location"))
	}
	if o, err := w.Store.Order(t.Context(), id); err != nil || o.Status != order.UpdatePhotos {
		t.Errorf("the order is %+v, %v", o, err)
	}
	body, kind = formWithFiles(t, nil, map[string][]byte{"document": []byte("format: 1\n")})
	answer = postLate(t, w, w.AsStaff(t, w.Jun), "/desk/admin/catalog/import", kind, body, func() {
		_, err := w.Service.DeactivateStaff(t.Context(), access.Operator, w.Jun.ID)
		must.NoError(t, err)
	})
	if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(answer.Header.Get("Location"), "/desk/sign-in") {
		t.Errorf("catalog: %d to %q", answer.StatusCode, answer.Header.Get("Location"))
	}
}
