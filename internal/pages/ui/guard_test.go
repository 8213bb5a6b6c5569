package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

type person struct {
	ID    string
	Admin bool
}

// sessions are those of a service that may fail to end one.
type sessions struct {
	*service.Service
	failure error
}

func (s *sessions) EndSession(ctx context.Context, session *access.Session, from access.Origin) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Service.EndSession(ctx, session, from)
}

// guarded is a small area behind a guard; signing in needs nothing but a name.
func guarded(t *testing.T, users map[string]*person) (http.Handler, *sessions) {
	db := storetest.Open(t, storetest.SQLite(t))
	must.NoError(t, db.Update(t.Context(), func(tx *store.Tx) error {
		for _, id := range []string{"ann", "bob", "eve"} {
			s := &access.Staff{ID: id, Email: id + "@example.com", Name: id, Role: access.Reviewer, CreatedAt: time.Now()}
			if err := tx.InsertStaff(s, store.StaffToken{}); err != nil {
				return err
			}
		}
		return nil
	}))
	box, err := secret.New(uitest.SecretKey)
	must.NoError(t, err)
	svc := &sessions{Service: service.New(service.Config{Store: db, Secrets: box, Now: time.Now})}
	site := uitest.Site(t, time.Now, gallery())
	pages := site.Pages("gallery")
	guard := &ui.Guard[*person]{
		Pages: pages, Sessions: svc, Audience: access.Desk, SignIn: "/sign-in",
		User: func(_ context.Context, id string) (*person, error) {
			if p, ok := users[id]; ok {
				return p, nil
			}
			return nil, fault.New(fault.NotFound, fault.CodeNotFound, "gone")
		},
	}
	hello := func(w http.ResponseWriter, r *http.Request, who *ui.Visitor[*person]) error {
		if ui.VisitorOf[*person](r) != who {
			t.Error("SignedIn does not know who is signed in")
		}
		_, err := w.Write([]byte("hello " + who.User.ID))
		return err
	}
	mux := http.NewServeMux()
	site.Routes(mux)
	mux.Handle("GET /desk", guard.Handle(hello))
	mux.Handle("POST /desk", guard.Handle(hello))
	mux.Handle("POST /confirmed", guard.Handle(func(http.ResponseWriter, *http.Request, *ui.Visitor[*person]) error {
		return access.ConfirmationNeeded
	}))
	strict := *guard
	strict.SetUp = "/set-up"
	strict.NeedsFactor = func(context.Context, *access.Session) (bool, error) { return true, nil }
	mux.Handle("POST /factor", strict.Handle(hello))
	mux.Handle("GET /admin", guard.Handle(hello, func(p *person) error {
		if !p.Admin {
			return fault.New(fault.Forbidden, "forbidden", "no")
		}
		return nil
	}))
	mux.Handle("POST /sign-in", pages.Handle(func(w http.ResponseWriter, r *http.Request) error {
		form, err := ui.ReadForm(w, r)
		if err != nil {
			return err
		}
		if _, err := guard.Start(w, r, form.Get("user"), ui.Entrance{}); err != nil {
			return err
		}
		return site.Redirect(w, r, form.Get("next"))
	}))
	mux.Handle("POST /sign-out", pages.Handle(func(w http.ResponseWriter, r *http.Request) error {
		if err := guard.End(w, r); err != nil {
			return err
		}
		return site.Redirect(w, r, "/sign-in")
	}))
	return site.Wrap(mux), svc
}

func TestGuard(t *testing.T) {
	users := map[string]*person{"ann": {ID: "ann"}, "bob": {ID: "bob", Admin: true}}
	h, svc := guarded(t, users)
	signIn := func(v *visitor, user string) {
		want(t, v.post("/sign-in", url.Values{"user": {user}, "next": {"/desk"}}), http.StatusSeeOther)
	}

	t.Run("NotSignedIn", func(t *testing.T) {
		v := visit(t, h)
		resp := v.get("/desk?page=2&x=y")
		if want(t, resp, http.StatusSeeOther); resp.Header.Get("Location") != "/sign-in?next=%2Fdesk%3Fpage%3D2%26x%3Dy" {
			t.Errorf("sent to %q", resp.Header.Get("Location"))
		}
		if resp := v.post("/desk", nil); resp.Header.Get("Location") != "/sign-in" {
			t.Errorf("a form is sent to %q", resp.Header.Get("Location"))
		}
		want(t, v.get("/desk", "Sec-Fetch-Mode", "cors"), http.StatusUnauthorized, "Please sign in")
		want(t, v.get("/desk", "Accept", "text/event-stream"), http.StatusUnauthorized, "Please sign in")
	})
	t.Run("SignInAndOut", func(t *testing.T) {
		v := visit(t, h)
		signIn(v, "ann")
		want(t, v.get("/desk"), http.StatusOK, "hello ann")
		token := v.cookies["assay_desk"]
		want(t, v.post("/sign-out", nil), http.StatusSeeOther)
		if _, ok := v.cookies["assay_desk"]; ok {
			t.Error("the cookie stays")
		}
		v.cookies["assay_desk"] = token
		want(t, v.get("/desk"), http.StatusSeeOther)
	})
	t.Run("Fixation", func(t *testing.T) {
		attacker := visit(t, h)
		signIn(attacker, "ann")
		victim := visit(t, h)
		planted := attacker.cookies["assay_desk"]
		victim.cookies["assay_desk"] = planted
		signIn(victim, "bob")
		if victim.cookies["assay_desk"] == planted {
			t.Error("the planted session was taken over")
		}
		want(t, attacker.get("/desk"), http.StatusSeeOther)
		want(t, victim.get("/desk"), http.StatusOK, "hello bob")
	})
	t.Run("Forbidden", func(t *testing.T) {
		v := visit(t, h)
		signIn(v, "ann")
		want(t, v.get("/admin"), http.StatusForbidden, "Not allowed")
		signIn(v, "bob")
		want(t, v.get("/admin"), http.StatusOK)
	})
	t.Run("UserGone", func(t *testing.T) {
		v := visit(t, h)
		users["eve"] = &person{ID: "eve"}
		signIn(v, "eve")
		want(t, v.get("/desk"), http.StatusOK)
		delete(users, "eve")
		svc.failure = fault.UnavailableError(errors.New("away"))
		want(t, v.get("/desk"), http.StatusServiceUnavailable)
		svc.failure = nil
		want(t, v.get("/desk"), http.StatusSeeOther)
		if left, err := svc.Sessions(t.Context(), access.Desk, "eve"); err != nil || len(left) != 0 {
			t.Errorf("sessions of a user who is gone: %v, %v", left, err)
		}
	})
	t.Run("Cookie", func(t *testing.T) {
		resp := visit(t, h).post("/sign-in", url.Values{"user": {"ann"}})
		for name, age := range map[string]string{"assay_desk=": "Max-Age=604800", "assay_device=": "Max-Age=31536000"} {
			at := slices.IndexFunc(resp.Header["Set-Cookie"], func(c string) bool { return strings.HasPrefix(c, name) })
			if at < 0 {
				t.Fatalf("no cookie %s", name)
			}
			for _, part := range []string{"HttpOnly", "SameSite=Lax", "Path=/", age} {
				if c := resp.Header["Set-Cookie"][at]; !strings.Contains(c, part) {
					t.Errorf("cookie %q lacks %s", c, part)
				}
			}
		}
	})
}

// TestRefusedUploads: a browser looks for the answer only after it has sent the files.
func TestRefusedUploads(t *testing.T) {
	h, _ := guarded(t, map[string]*person{"ann": {ID: "ann"}})
	signedIn := visit(t, h)
	want(t, signedIn.post("/sign-in", url.Values{"user": {"ann"}, "next": {"/desk"}}), http.StatusSeeOther)
	for name, test := range map[string]struct {
		path, header, value string
		who                 *visitor
		status              int
	}{
		"Script":      {"/desk", "Sec-Fetch-Mode", "cors", visit(t, h), http.StatusUnauthorized},
		"Form":        {"/desk", "Sec-Fetch-Mode", "navigate", visit(t, h), http.StatusSeeOther},
		"CrossOrigin": {"/desk", "Sec-Fetch-Site", "cross-site", signedIn, http.StatusForbidden},
		"Confirm":     {"/confirmed", "Sec-Fetch-Mode", "navigate", signedIn, http.StatusSeeOther},
		"Refused":     {"/confirmed", "Sec-Fetch-Mode", "cors", signedIn, http.StatusForbidden},
		"Factor":      {"/factor", "Sec-Fetch-Mode", "navigate", signedIn, http.StatusSeeOther},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.NewReader(strings.Repeat("x", 4<<20))
			r := httptest.NewRequest(http.MethodPost, "http://assay.test"+test.path, body)
			r.Header.Set(test.header, test.value)
			want(t, test.who.do(r), test.status)
			if body.Len() > 0 {
				t.Errorf("%d bytes were not read", body.Len())
			}
		})
	}
}
