package portal

import (
	"embed"
	"errors"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/pages/ui"
)

// healthStep is what one bar of an endpoint's health stands for, endpointDeliveries how many deliveries its page shows.
const (
	healthStep         = 24 * time.Hour
	healthSteps        = 7
	endpointDeliveries = 10
)

type endpointView struct {
	place
	*webhook.Endpoint
	Key      *access.Key
	Usable   bool
	Overlap  bool // deliveries are signed with the previous secret as well
	Rate     string
	Health   *ui.Chart // nil: there were no attempts
	Recent   []*webhook.Delivery
	PausedBy time.Time // when waiting deliveries begin to fail
}

func (p *Portal) showEndpoint(w http.ResponseWriter, r *http.Request, who *visitor) error {
	actor := who.actor()
	e, err := p.Service.Endpoint(r.Context(), actor, r.PathValue("id"))
	if err != nil {
		return err
	}
	v := &endpointView{place: p.place(r, who, "/webhooks"), Endpoint: e}
	if v.Key, err = p.Service.Key(r.Context(), actor, e.APIKeyID); err != nil {
		return err
	}
	now := p.Site.Now()
	v.Usable = v.Key.UsableAt(now)
	v.Overlap = e.Rotation.Overlaps(now)
	if e.PausedAt != nil {
		v.PausedBy = e.PausedAt.Add(webhook.MaxPause)
	}
	begin := now.Truncate(healthStep).Add(-(healthSteps - 1) * healthStep)
	hours, err := p.Service.EndpointHours(r.Context(), actor, e.ID, begin)
	if err != nil {
		return err
	}
	v.Rate, v.Health = p.health(r, hours, begin)
	v.Recent, err = p.Service.Deliveries(r.Context(), actor,
		webhook.DeliveryFilter{Tenant: e.Tenant, EndpointID: e.ID}, endpointDeliveries)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "endpoint", Data: v})
}

// health draws how attempts went, and tells the share of those that were acknowledged.
func (p *Portal) health(r *http.Request, hours []webhook.HourCount, begin time.Time) (string, *ui.Chart) {
	layout := "2 Jan"
	if ui.LocaleOf(r) == text.Japanese {
		layout = "1/2"
	}
	acknowledged, failed := make([]float64, healthSteps), make([]float64, healthSteps)
	c := &ui.Chart{
		Kind: ui.Bars, Stack: true, Title: p.Site.T(r, "portal.endpoint.health"),
		Text: p.Site.T(r, "portal.endpoint.health_text"),
	}
	for i := range healthSteps {
		c.Labels = append(c.Labels, begin.Add(time.Duration(i)*healthStep).UTC().Format(layout))
	}
	var sum webhook.AttemptCount
	for _, h := range hours {
		if i := int(h.Hour.Sub(begin) / healthStep); i >= 0 && i < healthSteps {
			acknowledged[i] += float64(h.Acknowledged)
			failed[i] += float64(h.Failed)
			sum.Acknowledged += h.Acknowledged
			sum.Failed += h.Failed
		}
	}
	if sum == (webhook.AttemptCount{}) {
		return successRate(sum), nil
	}
	c.Series = []ui.Series{
		{Name: p.Site.T(r, "portal.endpoint.acknowledged"), Values: acknowledged},
		{Name: p.Site.T(r, "portal.endpoint.failed"), Values: failed},
	}
	return successRate(sum), c
}

func (p *Portal) pauseEndpoint(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	pause := form.Get("paused") == "1"
	e, err := p.Service.PauseEndpoint(r.Context(), who.actor(), r.PathValue("id"), pause)
	if err != nil {
		return err
	}
	done := "portal.endpoint.resumed"
	if pause {
		done = "portal.endpoint.paused"
	}
	return p.Site.Redirect(w, r, endpointPath(e), ui.Done(done))
}

func (p *Portal) backToEndpoint(w http.ResponseWriter, r *http.Request, who *visitor) error {
	e, err := p.Service.Endpoint(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, endpointPath(e))
}

func endpointPath(e *webhook.Endpoint) string {
	return home + "/" + string(e.Environment) + "/webhooks/" + e.ID
}

type rotationView struct {
	*webhook.Endpoint
	Back    string
	Since   string // of the secret that is replaced
	Overlap bool   // the previous secret is still valid
	Form    *ui.Form
}

func (p *Portal) showRotateSecret(w http.ResponseWriter, r *http.Request, who *visitor) error {
	page, err := p.rotationPage(r, who, ui.NewForm())
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

// rotationPage asks before the secret is replaced that the endpoint has now.
func (p *Portal) rotationPage(r *http.Request, who *visitor, form *ui.Form) (ui.Page, error) {
	e, err := p.Service.Endpoint(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return ui.Page{}, err
	}
	if e.OAuth != nil {
		return ui.Page{}, webhook.NotHMAC
	}
	now := p.Site.Now()
	return ui.Page{Template: "secret_rotate", Form: form, Data: rotationView{
		Endpoint: e, Back: endpointPath(e), Since: e.SecretSince().Format(time.RFC3339Nano),
		Overlap: e.Rotation.Overlaps(now), Form: form,
	}}, nil
}

// rotateSecret shows the new signing secret once, in the answer itself. A form that is sent again is asked about again:
// the secret that it was about is replaced already.
func (p *Portal) rotateSecret(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	since, _ := time.Parse(time.RFC3339Nano, form.Get("since")) // without it: whichever secret there is
	lost := form.Get("lost") != ""
	e, secret, err := p.Service.RotateSecretOnce(r.Context(), who.actor(), r.PathValue("id"), since, lost)
	if errors.Is(err, webhook.AlreadyRotated) {
		page, failed := p.rotationPage(r, who, form)
		if failed != nil {
			return failed
		}
		return p.pages.Again(w, r, page, err)
	}
	if err != nil {
		return err
	}
	v := madeEndpointView{place: p.place(r, who, "/webhooks"), Endpoint: e, Secret: secret}
	return p.pages.Render(w, r, ui.Page{Template: "secret_made", Data: v})
}

//go:embed snippets/verify.*
var snippetFiles embed.FS

// snippets show how a receiver verifies a delivery. Tests run each of them in its language.
var snippets = []snippet{
	{"Go", "verify.go"},
	{"TypeScript", "verify.ts"},
	{"Python", "verify.py"},
	{"PHP", "verify.php"},
	{"Ruby", "verify.rb"},
}

type snippet struct{ Language, File string }

// Code is the text of the snippet.
func (s snippet) Code() (string, error) {
	b, err := snippetFiles.ReadFile("snippets/" + s.File)
	return string(b), err
}

type verifyView struct{ Snippets []snippet }

func (p *Portal) showVerify(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	return p.pages.Render(w, r, ui.Page{Template: "verify", Data: verifyView{snippets}})
}
