package portal

import (
	"errors"
	"net/http"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/pages/ui"
)

// refuse shows a form again with what a use case refused.
func (p *Portal) refuse(w http.ResponseWriter, r *http.Request, page ui.Page, form *ui.Form, err error) error {
	if err := p.refuseField(form, err); err != nil {
		return err
	}
	page.Status = http.StatusUnprocessableEntity
	return p.pages.Render(w, r, page)
}

// refuseField puts what a use case refused beside its field, in the words of the portal where it has some.
func (p *Portal) refuseField(form *ui.Form, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	if key := "portal.fault." + f.Code; p.Site.Messages.Has(key) {
		form.Alert(key)
		return nil
	}
	problems, _ := f.Details["errors"].([]fault.Problem)
	for _, problem := range problems {
		if key := "portal.problem." + problem.Code; p.Site.Messages.Has(key) {
			form.Fail(problem.Field, key)
		}
	}
	return form.Refuse(err)
}
