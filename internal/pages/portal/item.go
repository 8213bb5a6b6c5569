package portal

import (
	"net/http"
	"slices"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/pages/ui"
)

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
		return c, nil //nolint:nilerr // a category that is none leaves nothing to choose
	}
	c.Brands = ui.Options(brands, func(b *catalog.Brand) ui.Option {
		return ui.Option{Value: b.Code, Label: b.Name.In(l)}
	}, choose)
	models, err := snap.Models(brand, category, "")
	if brand == "" || err != nil {
		return c, nil //nolint:nilerr // likewise: the brand of another category, say
	}
	c.Models = ui.Options(models, func(m *catalog.Model) ui.Option {
		return ui.Option{Value: m.Code, Label: m.Name.In(l)}
	}, ui.Option{Label: p.Site.T(r, "portal.sandbox.no_model")})
	if !slices.ContainsFunc(models, func(m *catalog.Model) bool { return m.Code == model }) {
		model = ""
	}
	c.Where, err = snap.Check(category, brand, model)
	c.Ready = err == nil
	return c, err
}
