package portal_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// target makes something of the account for the address of a pattern, fresh each time, because some pages end it. What
// belongs to one user is of the owner.
func (w *world) target(t *testing.T, pattern string) string {
	t.Helper()
	return w.targetOf(t, w.Owner, pattern)
}

// targetOf is target for what belongs to a user.
func (w *world) targetOf(t *testing.T, u *access.User, pattern string) string {
	t.Helper()
	_, path, _ := strings.Cut(pattern, " ")
	env := access.Test
	if strings.HasPrefix(path, "/portal/live") {
		env = access.Live
	}
	fill := func(name, value string) string { return strings.Replace(path, "{"+name+"}", value, 1) }
	switch {
	case strings.Contains(path, "/orders/{id}"):
		return fill("id", w.orderIn(t, env))
	case strings.Contains(path, "/capture-links/{id}"):
		return fill("id", w.captureLink(t, env).ID)
	case strings.Contains(path, "/webhooks/{id}"):
		return fill("id", w.endpoint(t, env).ID)
	case strings.Contains(path, "/requests/{id}"):
		return fill("id", w.request(t, env))
	case strings.Contains(path, "/deliveries/{id}"):
		return fill("id", w.delivery(t, env))
	case strings.Contains(path, "/keys/{id}"):
		return fill("id", w.key(t, access.Test).ID)
	case strings.Contains(path, "/invitations/{id}"):
		_, id := w.invitation(t, "new-"+uuid7.New()+"@acme.example", access.Viewer)
		return fill("id", id)
	case strings.Contains(path, "/users/{id}"):
		return fill("id", w.AddUser(t, w.Account.ID, "member-"+uuid7.New()+"@acme.example", access.Viewer).ID)
	case strings.Contains(path, "/activity/{seq}"):
		n, err := w.Store.EventCount(t.Context(), audit.PortalLog, w.Account.ID)
		must.NoError(t, err)
		return fill("seq", strconv.FormatInt(n, 10)) // the other account has fewer
	case strings.Contains(path, "/audit/{seq}"):
		w.key(t, access.Test) // so that there is an event that the other account does not have
		return fill("seq", "3")
	case strings.Contains(path, "/photos/{name}/{size}"):
		managed := w.Photo(t, w.Test)
		return strings.Replace(fill("name", managed[strings.LastIndex(managed, "/")+1:]), "{size}", "thumb", 1)
	case strings.Contains(path, "/passkeys/{id}"):
		return fill("id", w.passkey(t, u).ID)
	case strings.Contains(path, "/sessions/{id}"):
		return fill("id", uuid7.New())
	}
	if strings.Contains(path, "{") {
		t.Fatalf("the test has no target for %s", pattern)
	}
	return path
}

// orderIn makes an order that waits for photos in Test and is queued in Live.
func (w *world) orderIn(t *testing.T, env access.Environment) string {
	t.Helper()
	if env == access.Live {
		return w.Order(t, w.Live, "")
	}
	return w.Order(t, w.Test, order.MockUpdatePhotos)
}

func request(v *pagetest.Visitor, pattern, path string) *pagetest.Page {
	v.T.Helper()
	if strings.HasPrefix(pattern, "POST ") {
		return v.Post(path)
	}
	return v.Get(path)
}

func patternsOf(w *world) []string {
	var patterns []string
	for pattern := range w.Portal.Patterns() {
		patterns = append(patterns, pattern)
	}
	slices.Sort(patterns)
	return patterns
}

// TestFormsCanBeOpened: the switch of language of whatever answers a form leads to an address that exists.
func TestFormsCanBeOpened(t *testing.T) {
	w := newWorld(t)
	noPages := []string{ // they answer with no page but that of an error
		"/portal/sign-in/passkey/challenge", "/portal/sign-out", "/portal/settings/sessions/{id}/end",
		"/portal/settings/sessions/end",
	}
	roles := w.Portal.Patterns()
	for pattern := range roles {
		path, ok := strings.CutPrefix(pattern, "POST ")
		if _, opens := roles["GET "+path]; ok && !opens && !slices.Contains(noPages, path) {
			t.Errorf("%s cannot be opened", path)
		}
	}
	v := w.AsUser(t, w.Owner)
	made := v.Post("/portal/team/users/"+w.Viewer.ID+"/reset").Want(t, http.StatusOK, "/portal/reset?token=")
	v.Follow(v.Get(made.In(t, "ja"))).Want(t, http.StatusOK, "チーム")
	refused := v.Post("/portal/test/orders/"+w.orderIn(t, access.Test)+"/state", "state", "sold").
		Want(t, http.StatusUnprocessableEntity)
	v.Follow(v.Get(refused.In(t, "en"))).Want(t, http.StatusOK, "Sandbox")
}

// TestAccess goes through every address of the portal as everybody who may come.
func TestAccess(t *testing.T) {
	w := newWorld(t)
	roles := w.Portal.Patterns()
	rank := map[access.Role]int{access.Viewer: 1, access.Developer: 2, access.Owner: 3}

	t.Run("NoSession", func(t *testing.T) {
		for _, pattern := range patternsOf(w) {
			if roles[pattern] == "" {
				continue
			}
			p := request(w.Visit(t), pattern, w.target(t, pattern))
			if p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/portal/sign-in") {
				t.Errorf("%s: %d to %q, want the page to sign in", pattern, p.Status, p.Location)
			}
		}
	})
	t.Run("SessionOfTheDesk", func(t *testing.T) {
		v := w.WithSession(t, access.Desk, "assay_portal", w.Aoi.ID)
		for _, pattern := range patternsOf(w) {
			if roles[pattern] == "" {
				continue
			}
			if p := request(v, pattern, w.target(t, pattern)); p.Status != http.StatusSeeOther ||
				!strings.HasPrefix(p.Location, "/portal/sign-in") {
				t.Errorf("%s: %d to %q, want the page to sign in", pattern, p.Status, p.Location)
			}
		}
	})
	for _, u := range []*access.User{w.Viewer, w.Developer, w.Owner} {
		t.Run(string(u.Role), func(t *testing.T) {
			for _, pattern := range patternsOf(w) {
				role := roles[pattern]
				if role == "" || strings.Contains(pattern, "/sessions/{id}") {
					continue
				}
				p := request(w.AsUser(t, u), pattern, w.targetOf(t, u, pattern))
				allowed := rank[u.Role] >= rank[role]
				switch {
				case !allowed && p.Status != http.StatusForbidden:
					t.Errorf("%s: %d, want 403", pattern, p.Status)
				case allowed &&
					(p.Status == http.StatusForbidden || p.Status == http.StatusNotFound || p.Status >= 500 ||
						strings.HasPrefix(p.Location, "/portal/sign-in")):
					t.Errorf("%s: %d to %q, want it to be allowed\n%.600s", pattern, p.Status, p.Location, p.Body)
				}
			}
		})
	}
	t.Run("OtherAccount", func(t *testing.T) {
		v := w.AsUser(t, w.Stranger)
		for _, pattern := range patternsOf(w) {
			if roles[pattern] == "" {
				continue
			}
			p := request(v, pattern, w.target(t, pattern))
			ownTeam := strings.HasPrefix(pattern, "GET /portal/team/") && p.Location == "/portal/team"
			if strings.Contains(pattern, "{") && p.Status != http.StatusNotFound && !ownTeam {
				t.Errorf("%s: %d to %q, want 404", pattern, p.Status, p.Location)
			}
			for _, secret := range []string{w.Account.Name, w.Account.ID, "acme.example", "Vault 7"} {
				if strings.Contains(p.Body, secret) {
					t.Errorf("%s tells %q of another account", pattern, secret)
				}
			}
		}
	})
	t.Run("OtherUserOfTheAccount", func(t *testing.T) {
		owners := []*access.User{w.Viewer, w.Owner, w.Developer} // of what each of the next asks for
		for i, u := range []*access.User{w.Owner, w.Developer, w.Viewer} {
			for _, pattern := range patternsOf(w) {
				if !strings.Contains(pattern, "/passkeys/{id}") {
					continue
				}
				if p := request(w.AsUser(t, u), pattern, w.targetOf(t, owners[i], pattern)); p.Status != http.StatusNotFound {
					t.Errorf("%s of the %s by the %s: %d to %q, want 404", pattern, owners[i].Role, u.Role, p.Status, p.Location)
				}
			}
		}
	})
	t.Run("OtherEnvironment", func(t *testing.T) {
		v := w.AsUser(t, w.Owner)
		for _, pattern := range patternsOf(w) {
			if !strings.Contains(pattern, "{id}") ||
				!strings.Contains(pattern, "/portal/live/") && !strings.Contains(pattern, "/portal/test/") {
				continue
			}
			swapped := strings.NewReplacer("/live/", "/test/", "/test/", "/live/").Replace(pattern)
			path := strings.NewReplacer("/live/", "/test/", "/test/", "/live/").Replace(w.target(t, swapped))
			if p := request(v, pattern, path); p.Status != http.StatusNotFound {
				t.Errorf("%s with an id of the other environment: %d to %q, want 404", pattern, p.Status, p.Location)
			}
		}
	})
}

// TestForeignReferences sends ids of another account inside forms.
func TestForeignReferences(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Stranger)
	k := w.key(t, access.Test)
	v.Post("/portal/test/webhooks", "key", k.ID, "url", "https://127.0.0.1:1999/x", "events", "order-outcome", "auth",
		"hmac").Want(t, http.StatusNotFound)
	v.Post("/portal/test/sandbox", "key", k.ID, "category", "bags", "brand", "prada", "outcome", "authentic", "indexes",
		"overall-picture").Want(t, http.StatusNotFound)
	own := w.key(t, access.Live)
	w.AsUser(t, w.Owner).
		Post("/portal/test/webhooks", "key", own.ID, "url", "https://127.0.0.1:1999/x", "events", "order-outcome", "auth",
			"hmac").Want(t, http.StatusNotFound)
}

// TestCrossSite checks that a page of another site cannot make a signed-in browser do anything.
func TestCrossSite(t *testing.T) {
	w := newWorld(t)
	for _, pattern := range patternsOf(w) {
		if !strings.HasPrefix(pattern, "POST ") {
			continue
		}
		path := w.target(t, pattern)
		for name, headers := range map[string]map[string]string{
			"form":   {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Origin": "https://evil.example"},
			"fetch":  {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Origin": "https://evil.example"},
			"origin": {"Origin": "https://evil.example"},
		} {
			v := w.AsUser(t, w.Owner)
			v.Headers = headers
			if p := request(v, pattern, path); p.Status != http.StatusForbidden {
				t.Errorf("%s by a %s of another site: %d to %q, want 403", pattern, name, p.Status, p.Location)
			}
		}
	}
}

// TestHeaders checks that no page can be framed, cached or made to run other scripts.
func TestHeaders(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/portal/sign-in", "/portal/keys", "/portal/test"} {
		h := w.AsUser(t, w.Owner).Get(path).Header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") ||
			!strings.Contains(csp, "script-src 'self'") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if h.Get("X-Frame-Options") != "DENY" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
}
