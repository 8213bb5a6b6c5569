package portal

import (
	"net/http"

	"github.com/assayhq/assay/internal/pages/ui"
)

// refuse shows a form again with what a use case refused.
func (p *Portal) refuse(w http.ResponseWriter, r *http.Request, page ui.Page, form *ui.Form, err error) error {
	if err := p.pages.Refuse(form, err); err != nil {
		return err
	}
	page.Status = http.StatusUnprocessableEntity
	return p.pages.Render(w, r, page)
}
