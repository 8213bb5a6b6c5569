package admin

import (
	"errors"
	"io"
	"net/http"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

const (
	maxCatalogBytes = 16 << 20
	shownProblems   = 200
	shownChanges    = 1000
)

type importView struct {
	Form     *ui.Form
	FileName string
	Problems []catalog.Problem
	Total    int // problems there are
}

func (a *Admin) showImport(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	return a.pages.Render(w, r, ui.Page{Template: "import", Data: importView{Form: ui.NewForm()}})
}

func (a *Admin) uploadCatalog(w http.ResponseWriter, r *http.Request, who *visitor) error {
	name, document, err := readUpload(w, r)
	if err == nil {
		who, err = who.Again()
	}
	if err != nil {
		return err
	}
	v := importView{Form: ui.NewForm(), FileName: name}
	if len(document) == 0 {
		v.Form.Fail("document", "admin.import.no_file")
		return a.pages.Render(w, r, ui.Page{Template: "import", Data: v, Form: v.Form})
	}
	plan, err := a.Service.UploadCatalog(r.Context(), actorOf(who), name, document)
	if err != nil {
		return a.importRefused(w, r, v, err)
	}
	return a.Site.Redirect(w, r, home+"/catalog/drafts/"+plan.Draft.ID)
}

// importRefused shows what is wrong with a document, if that is why it was refused.
func (a *Admin) importRefused(w http.ResponseWriter, r *http.Request, v importView, err error) error {
	broken, ok := errors.AsType[*catalog.DocumentError](err)
	if !ok {
		return err
	}
	v.Form.Alert("admin.import.broken", "n", len(broken.Problems))
	v.Total, v.Problems = len(broken.Problems), broken.Problems[:min(shownProblems, len(broken.Problems))]
	return a.pages.Render(w, r, ui.Page{Template: "import", Data: v, Form: v.Form})
}

// readUpload returns the first file of a form. Only the file is read, however the form is made.
func readUpload(w http.ResponseWriter, r *http.Request) (name string, content []byte, err error) {
	httpx.ExpectUpload(r)
	r.Body = http.MaxBytesReader(w, r.Body, maxCatalogBytes)
	parts, err := r.MultipartReader()
	if err != nil {
		return "", nil, fault.BadRequest("The form cannot be read.").Because(err)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return "", nil, nil
		}
		if err == nil && part.FormName() == "document" && part.FileName() != "" {
			name = part.FileName()
			content, err = io.ReadAll(part)
		}
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return "", nil, fault.New(fault.TooLarge, "form-too-large", "The file is too large.").Because(err)
		}
		if err != nil {
			return "", nil, fault.BadRequest("The form cannot be read.").Because(err)
		}
		if name != "" {
			return name, content, nil
		}
	}
}

type previewView struct {
	*service.CatalogPlan
	Shown   []catalog.Change
	Added   int
	Removed int
	Changed int
}

func (a *Admin) previewCatalog(w http.ResponseWriter, r *http.Request, who *visitor) error {
	plan, err := a.Service.CatalogPlan(r.Context(), actorOf(who), r.PathValue("draft"))
	if err != nil { // an account of it may be gone since it was uploaded
		return a.importRefused(w, r, importView{Form: ui.NewForm()}, err)
	}
	v := previewView{CatalogPlan: plan, Shown: plan.Changes[:min(shownChanges, len(plan.Changes))]}
	for _, c := range plan.Changes {
		switch c.Kind {
		case catalog.Added:
			v.Added++
		case catalog.Removed:
			v.Removed++
		case catalog.Changed:
			v.Changed++
		}
	}
	return a.pages.Render(w, r, ui.Page{Template: "preview", Data: v})
}

func (a *Admin) confirmCatalog(w http.ResponseWriter, r *http.Request, who *visitor) error {
	changes, err := a.Service.ConfirmCatalog(r.Context(), actorOf(who), r.PathValue("draft"))
	if _, ok := errors.AsType[*catalog.DocumentError](err); ok { // an account of it is gone since it was looked at
		return a.importRefused(w, r, importView{Form: ui.NewForm()}, err)
	}
	if err != nil {
		return a.redirectWithFault(w, r, home+"/catalog/import", err)
	}
	return a.Site.Redirect(w, r, home+"/catalog", ui.Done("admin.import.done", "n", len(changes)))
}

func (a *Admin) dropCatalog(w http.ResponseWriter, r *http.Request, who *visitor) error {
	if err := a.Service.DropCatalogDraft(r.Context(), actorOf(who), r.PathValue("draft")); err != nil {
		return err
	}
	return a.Site.Redirect(w, r, home+"/catalog", ui.Note("admin.import.dropped"))
}
