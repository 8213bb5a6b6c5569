package portal

import (
	"bytes"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/ui"
)

type sandboxView struct {
	place
	Balance    int64
	BalanceSet *ui.Form
	Form       *ui.Form
	itemChoice // the order can be made once it is ready
	Keys       []ui.Option
	Times      []ui.Option
	Outcomes   []ui.Option
	Indexes    []*catalog.PhotoIndex
	Recent     []order.Summary
	Curl       string
	Sent       bool // the form is shown again
}

// Ticked reports whether an index is to have a photo: at first the required ones, and those that were chosen before the
// item was changed.
func (v *sandboxView) Ticked(x *catalog.PhotoIndex) bool {
	return v.Form.Checked("indexes", x.Code) || x.Required && !v.Sent
}

// recentOrders is how many of the newest orders the sandbox shows.
const recentOrders = 6

func (p *Portal) showSandbox(w http.ResponseWriter, r *http.Request, who *visitor) error {
	q := r.URL.Query()
	form := ui.NewForm()
	for _, name := range []string{"category", "brand", "model", "key", "external_id", "outcome", "answer_time"} {
		form.Set(name, ui.PlainText(q.Get(name)))
	}
	form.Values["indexes"] = q["indexes"]
	if form.Get("outcome") == "" {
		form.Set("outcome", string(order.MockAuthentic))
	}
	return p.renderSandbox(w, r, who, &sandboxView{Form: form}, form)
}

func (p *Portal) renderSandbox(
	w http.ResponseWriter, r *http.Request, who *visitor, v *sandboxView, form *ui.Form,
) error {
	v.place = p.place(r, who, "/sandbox")
	v.Switch = nil // there is no sandbox in Live
	actor := who.actor()
	var err error
	if v.Balance, err = p.Service.Balance(r.Context(), actor.Tenant); err != nil {
		return err
	}
	if v.BalanceSet == nil {
		v.BalanceSet = ui.NewForm("credits", strconv.FormatInt(v.Balance, 10))
	}
	if v.Recent, _, err = p.Service.Orders(r.Context(), actor, order.Filter{}, nil, recentOrders); err != nil {
		return err
	}
	keys, err := p.usableKeys(r, who)
	if err != nil {
		return err
	}
	v.Keys = ui.Options(keys, keyOption)
	if err := p.offerCatalog(r, who, v); err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "sandbox", Data: v, Form: form})
}

// offerCatalog fills the choices as far as what is chosen already leads.
func (p *Portal) offerCatalog(r *http.Request, who *visitor, v *sandboxView) (err error) {
	l, snap := ui.LocaleOf(r), p.Service.Catalog()
	v.Outcomes = ui.Options(order.MockOutcomes, func(o order.MockOutcome) ui.Option {
		return ui.Option{Value: string(o), Label: p.stateLabel(r, order.SandboxState(o))}
	})
	if v.itemChoice, err = p.chooseItem(r, v.Form); err != nil || !v.Ready {
		return err
	}
	offers, err := p.Service.Offers(r.Context(), snap, v.Where, who.User.AccountID)
	if err != nil {
		return err
	}
	v.Times = []ui.Option{{Label: p.Site.T(r, "portal.sandbox.default_time")}}
	for _, o := range offers {
		label := p.Site.T(r, "portal.sandbox.time", "name", o.Name.In(l), "n", o.Price)
		if !o.Available {
			label += " " + p.Site.T(r, "portal.sandbox.closed")
		}
		v.Times = append(v.Times, ui.Option{Value: strconv.Itoa(o.Code), Label: label})
	}
	v.Indexes = snap.PhotoIndexes(v.Where)
	v.Curl = p.createCurl(v)
	return nil
}

// createCurl is how a program makes the order of the form.
func (p *Portal) createCurl(v *sandboxView) string {
	body := map[string]any{
		"category_code": v.Where.Category, "brand_code": v.Where.Brand, "mock_outcome": v.Form.Get("outcome"),
		"photos": []map[string]string{},
	}
	if v.Where.Model != "" {
		body["model_code"] = v.Where.Model
	}
	if id := v.Form.Get("external_id"); id != "" {
		body["external_id"] = id
	}
	var photos []map[string]string
	for _, x := range v.Indexes {
		if x.Required {
			photos = append(photos, map[string]string{"index_code": x.Code, "url": "URL_FROM_UPLOAD"})
		}
	}
	if photos != nil {
		body["photos"] = photos
	}
	key := "-H \"Authorization: Bearer $" + keyVariable + "\""
	return "curl -X POST " + key + " \\\n  -F photos=@bag.jpg \\\n  '" + p.api("/photos") + "'\n\n" +
		p.postCurl("/orders", body)
}

func (p *Portal) createTestOrder(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	d := &order.Draft{
		CategoryCode: form.Get("category"), BrandCode: form.Get("brand"), ModelCode: form.Get("model"),
		MockGiven: true,
	}
	d.Mock, _ = order.ParseMockOutcome(form.Get("outcome"))
	if id := form.Get("external_id"); id != "" {
		d.ExternalID = &id
		if len([]rune(id)) > order.MaxExternalID {
			form.Fail("external_id", "ui.problem.max_length")
		}
	}
	if minutes := form.Get("answer_time"); minutes != "" {
		var err error
		if d.AnswerTime, err = strconv.Atoi(minutes); err != nil || d.AnswerTime < 1 {
			form.Fail("answer_time", "ui.problem.unknown_code")
		}
	}
	snap := p.Service.Catalog()
	where := catalog.Context{Category: d.CategoryCode, Brand: d.BrandCode, Model: d.ModelCode}
	switch {
	case snap.Check(where) != nil || d.BrandCode == "":
		form.Fail("brand", "ui.problem.required")
	case form.Get("key") == "":
		form.Fail("key", "portal.sandbox.no_key")
	case form.OK():
		id, err := p.makeTestOrder(r, who, form, d, snap.PhotoIndexes(where))
		if err == nil {
			return p.Site.Redirect(w, r, home+"/test/orders/"+id, ui.Done("portal.sandbox.made"))
		}
		if err := p.pages.Refuse(form, err); err != nil {
			return err
		}
	}
	return p.renderSandbox(w, r, who, &sandboxView{Form: form, Sent: true}, form)
}

// makeTestOrder stores sample photos for the chosen indexes and creates the order with them.
func (p *Portal) makeTestOrder(
	r *http.Request, who *visitor, form *ui.Form, d *order.Draft, indexes []*catalog.PhotoIndex,
) (string, error) {
	if _, err := p.Service.Key(r.Context(), who.in(access.Test).actor(), form.Get("key")); err != nil {
		return "", err
	}
	var uploads []media.Upload
	defer func() { media.CloseUploads(uploads) }()
	chosen := form.All("indexes")
	for _, x := range indexes {
		if !slices.Contains(chosen, x.Code) || len(uploads) == order.MaxPhotos {
			continue
		}
		sample, name := bytes.NewReader(p.samplePhoto(x.Code)), "sample-"+x.Code+".png"
		u, refusal, err := p.Staging.Accept(r.Context(), sample, name, p.MaxPhotoBytes)
		if err != nil {
			return "", err
		}
		if refusal != nil {
			return "", refusal
		}
		uploads = append(uploads, u)
		d.Photos = append(d.Photos, order.DraftPhoto{IndexCode: x.Code})
	}
	actor := who.in(access.Test).actor()
	if len(uploads) > 0 {
		urls, err := p.Service.StorePhotos(r.Context(), actor, uploads)
		if err != nil {
			return "", err
		}
		for i := range urls {
			d.Photos[i].URL = urls[i]
		}
	}
	return p.Service.CreateTestOrder(r.Context(), actor, form.Get("key"), d)
}

func (p *Portal) setBalance(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	credits, err := strconv.ParseInt(form.Get("credits"), 10, 64)
	if err != nil {
		form.Fail("credits", "portal.problem.range")
	} else if err := p.Service.SetTestBalance(r.Context(), who.actor(), credits); err == nil {
		return p.Site.Redirect(w, r, "/portal/test/sandbox", ui.Done("portal.sandbox.balance_set", "n", credits))
	} else if err := p.pages.Refuse(form, err); err != nil {
		return err
	}
	v := &sandboxView{BalanceSet: form, Form: ui.NewForm("outcome", string(order.MockAuthentic))}
	return p.renderSandbox(w, r, who, v, form)
}

func (p *Portal) simulateState(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	actor, id, state := who.actor(), r.PathValue("id"), order.SandboxState(form.Get("state"))
	var indexes []string
	if state == order.SandboxState(order.UpdatePhotos) {
		indexes = form.All("indexes")
	}
	if _, err := p.Service.SimulateState(r.Context(), actor, id, state, indexes); err != nil {
		if err := p.pages.Refuse(form, err); err != nil {
			return err
		}
		return p.renderOrder(w, r, who, &orderPage{State: form}, form)
	}
	done := ui.Done("portal.sandbox.moved", "state", p.stateLabel(r, state))
	return p.Site.Redirect(w, r, "/portal/test/orders/"+id, done)
}

func (p *Portal) simulateDelay(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	late := form.Get("delayed") == "1"
	if err := p.Service.SimulateDelay(r.Context(), who.actor(), r.PathValue("id"), late); err != nil {
		return err
	}
	key := "portal.sandbox.delayed"
	if !late {
		key = "portal.sandbox.punctual"
	}
	return p.Site.Redirect(w, r, "/portal/test/orders/"+r.PathValue("id"), ui.Done(key))
}

// itemChoice is how a form asks what an item is: category, brand and model one after the other.
type itemChoice struct {
	Categories []ui.Option
	Brands     []ui.Option // none before a category is chosen
	Models     []ui.Option // none before a brand is chosen
	Where      catalog.Context
	Ready      bool // category and brand are chosen
}

// chooseItem offers the catalog as far as what the form has chosen already leads.
func (p *Portal) chooseItem(r *http.Request, form *ui.Form) (c itemChoice, err error) {
	l, snap := ui.LocaleOf(r), p.Service.Catalog()
	categories, err := snap.Categories("")
	if err != nil {
		return c, err
	}
	choose := ui.Option{Label: p.Site.T(r, "portal.sandbox.choose")}
	c.Categories = ui.Options(categories, func(x *catalog.Category) ui.Option {
		return ui.Option{Value: x.Code, Label: x.Name.In(l)}
	}, choose)
	category, brand, model := form.Get("category"), form.Get("brand"), form.Get("model")
	brands, err := snap.Brands(category, "")
	if category == "" || err != nil {
		return c, nil // a category that is none leaves nothing to choose
	}
	c.Brands = ui.Options(brands, func(b *catalog.Brand) ui.Option {
		return ui.Option{Value: b.Code, Label: b.Name.In(l)}
	}, choose)
	models, err := snap.Models(catalog.Context{Category: category, Brand: brand}, "")
	if brand == "" || err != nil {
		return c, nil // likewise: the brand of another category, say
	}
	c.Models = ui.Options(models, func(m *catalog.Model) ui.Option {
		return ui.Option{Value: m.Code, Label: m.Name.In(l)}
	}, ui.Option{Label: p.Site.T(r, "portal.sandbox.no_model")})
	if !slices.ContainsFunc(models, func(m *catalog.Model) bool { return m.Code == model }) {
		model = ""
	}
	where := catalog.Context{Category: category, Brand: brand, Model: model}
	if err := snap.Check(where); err != nil {
		return c, err
	}
	c.Where, c.Ready = where, true
	return c, nil
}

// Pictures for photo indexes take as long to draw as many pages; they are kept for a while.
const (
	sampleLife  = time.Hour
	sampleBytes = 8 << 20
)

// samplePhoto returns the picture for a photo index.
func (p *Portal) samplePhoto(index string) []byte {
	now := time.Now()
	b, ok := p.samples.Get(index, now)
	if !ok {
		b = drawSample(index)
		p.samples.Put(index, b, now)
	}
	return b
}

// drawSample draws a small picture for a photo index: the same index gets the same colours. It stands for a photo
// where somebody tries the service without one.
func drawSample(index string) []byte {
	const width, height = 480, 360
	h := fnv.New32a()
	_, _ = h.Write([]byte(index))
	seed := h.Sum32()
	hue := float64(seed%360) / 360
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			light := 0.82 - 0.25*float64(y)/height
			dx, dy := (float64(x)-width/2)/150, (float64(y)-190)/105
			if d := math.Pow(math.Abs(dx), 3) + math.Pow(math.Abs(dy), 3); d < 1 { // the item: a rounded box with a highlight
				light = 0.55 - 0.2*dy - 0.08*dx
				// its handle
			} else if dx*dx/0.36+(dy+1.05)*(dy+1.05)/0.3 < 1 && dx*dx/0.2+(dy+1.05)*(dy+1.05)/0.16 > 1 && dy < -0.9 {
				light = 0.4
			}
			img.SetRGBA(x, y, shade(hue, light))
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil { // writing to memory does not fail
		panic(err)
	}
	return b.Bytes()
}

// shade is a muted colour of a hue with a lightness from 0 to 1.
func shade(hue, light float64) color.RGBA {
	light = min(1, max(0, light))
	channel := func(offset float64) uint8 {
		v := 0.5 + 0.5*math.Cos(2*math.Pi*(hue-offset))
		return uint8(255 * light * (0.72 + 0.28*v))
	}
	return color.RGBA{R: channel(0), G: channel(1.0 / 3), B: channel(2.0 / 3), A: 255}
}
