package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
)

// pageNotFound is the refusal of an address that does not exist.
var pageNotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such page.")

// PageNotFound returns the refusal of an address that does not exist, or that the visitor may not know of.
func PageNotFound() error { return pageNotFound }

// errorView is what the error page shows.
type errorView struct {
	Status    int
	Title     string
	Text      string
	Detail    string // what exactly was refused; empty: nothing to add
	RequestID string
	Home      string
}

// showError answers with the page of an error. A fault is told to the visitor, every other error only to the log.
func (p *Pages) showError(w http.ResponseWriter, r *http.Request, err error) {
	httpx.Drain(r, httpx.MaxDrain) // files, mostly: a browser whose connection ends with them names no other cause
	s := p.site
	f := s.explain(r, err)
	status := httpx.Status(f.Kind)
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(httpx.RetrySeconds(f.RetryAfter)))
	}
	w.Header().Set("Cache-Control", "no-store")
	v := errorView{Status: status, RequestID: httpx.RequestIDFrom(r.Context()), Home: "/"}
	v.Title, v.Text = s.errorTexts(r, status)
	if status < http.StatusInternalServerError && status != http.StatusNotFound {
		v.Detail = p.FaultText(r, f)
		if v.Detail == f.Message && LocaleOf(r) != text.English {
			v.Detail = "" // there is no text in the visitor's language; the one above says the same of the status
		}
	}
	if p.Shell != nil {
		if home := p.Shell(r).Home; home != "" {
			v.Home = home
		}
	}
	const name = "error"
	pages := p
	if !p.templates.pages[name] { // an area may have an error page of its own
		pages = s.fallback.Within(p.Shell)
	}
	if err := pages.Render(w, r, Page{Template: name, Data: v, Status: status}); err != nil {
		s.logError(r, err)
		http.Error(w, http.StatusText(status), status)
	}
}

// ErrorURL is where the guides explain an error code, with its causes and cures: for pages and mails that show one.
func ErrorURL(code string) string { return "/docs/errors#" + strings.ToLower(code) }

func (s *Site) errorTexts(r *http.Request, status int) (title, body string) {
	key := "ui.error." + strconv.Itoa(status)
	if !s.Messages.Has(key + ".title") {
		key = "ui.error.other"
	}
	return s.T(r, key+".title"), s.T(r, key+".text")
}

// FaultText says a refusal in the visitor's language where the area (AREA.fault.CODE) or all pages (ui.fault.CODE) have
// a text for its code, else in English. A refusal names the role that is missing, or the address that is not allowed.
func (p *Pages) FaultText(r *http.Request, err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return ""
	}
	s := p.site
	if role := fmt.Sprint(p.name, ".role.", f.Details["required_role"]); s.Messages.Has(role) {
		return s.T(r, "ui.forbidden.role", "role", s.T(r, role))
	}
	if address, ok := f.Details["address"]; ok && f.Kind == fault.Forbidden {
		return s.T(r, "ui.forbidden.address", "address", address)
	}
	for _, area := range []string{p.name, ownArea} {
		if key := area + ".fault." + f.Code; s.Messages.Has(key) {
			return s.T(r, key)
		}
	}
	return f.Message
}

// explain chooses what the visitor is told, and logs what the visitor is not told.
func (s *Site) explain(r *http.Request, err error) *fault.Error {
	f, ok := errors.AsType[*fault.Error](err)
	ended := r.Context().Err()
	switch {
	case ok && f != nil:
		if httpx.Status(f.Kind) >= http.StatusInternalServerError {
			s.logError(r, err)
		}
		return f
	case errors.Is(ended, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.UnavailableError(err)
	}
	s.logError(r, err)
	return fault.New(fault.Internal, fault.CodeInternal, "The request failed because of an error in the service.")
}

func (s *Site) logError(r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // it failed for a visitor who has gone
	}
	s.Log.ErrorContext(r.Context(), "page failed", "request_id", httpx.RequestIDFrom(r.Context()), "method", r.Method,
		"path", httpx.LoggedPath(r), "error", err)
}
