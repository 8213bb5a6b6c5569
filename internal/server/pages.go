package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/admin"
	"github.com/assayhq/assay/internal/pages/capture"
	"github.com/assayhq/assay/internal/pages/certificate"
	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/pages/docs"
	"github.com/assayhq/assay/internal/pages/portal"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

// pages combines the HTML pages. What has to end when the server stops is added to s.stopping.
func (s *Server) pages(staging *media.Staging, limiter ratelimit.Limiter, api *integration.API) (http.Handler, error) {
	set := &s.app.Settings
	issuer, err := set.issuer()
	if err != nil {
		return nil, fmt.Errorf("--issuer-logo: %w", err)
	}
	site, err := ui.New(ui.Config{
		Log: s.app.Log, Now: time.Now, Secrets: s.app.Secrets, PublicURL: set.PublicURL, MediaURL: set.MediaURL,
		Issuer: issuer,
	}, desk.Area, admin.Area, certificate.Area, capture.Area, portal.Area, docs.Area)
	if err != nil {
		return nil, err
	}
	images := s.imageCache(staging)
	deskPages := desk.New(desk.Config{
		Site: site, Service: s.app.Service, Images: images, Nav: admin.Nav(site, s.app.Service),
		OnChange: func() { s.app.changed(service.DeskChange) }, Looks: set.looks,
	})
	if s.changes != nil {
		s.changes.heard[service.DeskChange] = deskPages.Changed
	}
	s.stopping = append(s.stopping, deskPages.Close)
	mux := http.NewServeMux()
	site.Routes(mux)
	deskPages.Routes(mux)
	admin.New(admin.Config{
		Site: site, Service: s.app.Service, Guard: deskPages.Guard(), Started: time.Now(),
		Workers: s.workerStates, Settings: set.shown(),
		Space: func() (host.Space, error) { return host.SpaceOf(set.Data) },
	}).Routes(mux)
	certificate.New(site, s.app.Service, images).Routes(mux)
	capture.New(capture.Config{
		Site: site, Service: s.app.Service, Staging: staging, MaxPhotoBytes: int64(set.MaxPhotoBytes), Images: images,
		Limiter: limiter, Failures: api.Failures,
		Responder: &httpx.Responder{Log: s.app.Log},
	}).Routes(mux)
	portal.New(portal.Config{
		Site: site, Service: s.app.Service, Staging: staging, MaxPhotoBytes: int64(set.MaxPhotoBytes), Limiter: limiter,
		Images: images, Operations: api.Operations(), Categories: api.Categories(), NoRequestLog: set.RequestLogAge == 0,
	}).Routes(mux)
	docs.New(site).Routes(mux)
	if contact := set.SecurityContact; contact != "" {
		mux.Handle("GET "+securityTextPath, securityText(contact, set.PublicURL, time.Now))
	}
	mux.Handle("GET /{$}", http.RedirectHandler("/portal", http.StatusSeeOther))
	return site.Wrap(mux), nil
}

// imageCache returns the cache of derived images, which a worker fills ahead of time.
func (s *Server) imageCache(staging *media.Staging) *imaging.Cache {
	var apart imaging.Deriver
	if len(s.app.DecodeApart) > 0 {
		s.decoder = imaging.NewHelper(s.app.Log, s.app.DecodeApart...)
		apart = s.decoder.Derive
	}
	s.images = imaging.NewCache(s.app.Media, staging, apart)
	s.images.SetOwner(s.app.Service.PhotoOwner)
	if !s.app.Settings.Roles.Has(RoleImages) {
		exchange := newPhotoExchange(s.app.Store, s.app.Log, nil)
		s.app.ordered = exchange.tell
		s.workers = append(s.workers, exchange)
		return s.images
	}
	warmer := imaging.NewWarmer(s.images, s.app.Log)
	s.app.ordered = warmer.Ask
	s.workers = append(s.workers, warmer)
	if s.app.Store.Shared() {
		s.workers = append(s.workers, newPhotoExchange(s.app.Store, s.app.Log, warmer.Ask))
	}
	return s.images
}
