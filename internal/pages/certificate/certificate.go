// Package certificate is what the outside world sees of an authentic item: a public page, the signed document, a PDF,
// and the keys to check them with. Whoever knows the address may see it; nobody can guess one.
package certificate

import (
	"embed"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

//go:embed templates messages static
var files embed.FS

// Area is the templates, texts and static files of the pages, for ui.New.
var Area = ui.Area{Name: "certificate", Files: files}

// KeysPath is where the public keys are.
const KeysPath = "/.well-known/assay-certificate-keys.json"

// Certificates serves the public pages.
type Certificates struct {
	pages   *ui.Pages
	service *service.Service
	images  *imaging.Cache
	pdfs    *pdfs
}

// New returns the pages over a site that was made with Area.
func New(site *ui.Site, s *service.Service, images *imaging.Cache) *Certificates {
	return &Certificates{
		pages: site.Pages(Area.Name), service: s, images: images,
		pdfs: newPDFs(),
	}
}

// Routes mounts the pages.
func (c *Certificates) Routes(mux *http.ServeMux) {
	for pattern, handle := range c.table() {
		mux.Handle(pattern, c.pages.Handle(handle))
	}
}

// Patterns returns the addresses of all pages, for tests that look at each.
func (c *Certificates) Patterns() []string { return slices.Collect(maps.Keys(c.table())) }

func (c *Certificates) table() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /certificates/{id}":                        c.show,
		"GET /certificates/{id}/photos/{number}/{size}": c.photo,
		"GET " + KeysPath:                               c.keys,
	}
}

// show answers with the page, or with another form of the certificate where the address ends in .json or .pdf.
func (c *Certificates) show(w http.ResponseWriter, r *http.Request) error {
	id, form, _ := strings.Cut(r.PathValue("id"), ".")
	row, err := c.service.Certificate(r.Context(), id)
	if err != nil {
		return err
	}
	facts, err := row.Read()
	if err != nil {
		return err
	}
	switch form {
	case "":
		return c.page(w, r, row, facts)
	case "json":
		return c.document(w, row)
	case "pdf":
		return c.pdf(w, r, row, facts)
	}
	return ui.PageNotFound()
}

// pageView is what the page shows.
type pageView struct {
	*certificate.Certificate
	Title      string // of the item, in the visitor's language
	OtherTitle string // in the other one, where it differs
	OtherLang  text.Locale
	Issued     time.Time
	Revoked    *revocation
	Photos     []photoView
	QR         ui.QR
	KeyID      string
	KeysURL    string
	By         certificate.Issuer
}

type revocation struct {
	At     time.Time
	Reason string
}

type photoView struct {
	Number int
	Name   text.Text
	SHA256 string
	Erased bool // it cannot be seen any more
}

// Left is how many of the photos can still be seen.
func (v *pageView) Left() (n int) {
	for _, p := range v.Photos {
		if !p.Erased {
			n++
		}
	}
	return n
}

func (c *Certificates) page(
	w http.ResponseWriter, r *http.Request, row *certificate.Issued, facts *certificate.Certificate,
) error {
	qr, err := ui.NewQR(facts.URL)
	if err != nil {
		return err
	}
	names, err := c.service.CertificatePhotos(r.Context(), row)
	if err != nil {
		return err
	}
	locale := ui.LocaleOf(r)
	other := text.English
	if locale == text.English {
		other = text.Japanese
	}
	v := pageView{
		Certificate: facts, Title: facts.Item.Title(locale), OtherTitle: facts.Item.Title(other), OtherLang: other,
		Issued: time.Time(facts.IssuedAt),
		Photos: make([]photoView, len(facts.Photos)), QR: qr, KeyID: row.KeyID, KeysURL: KeysPath,
		By: c.pages.Site().Issuer,
	}
	if v.OtherTitle == v.Title {
		v.OtherTitle = ""
	}
	if row.Revoked != nil {
		v.Revoked = &revocation{At: time.Time(row.Revoked.At), Reason: row.Revoked.Reason}
	}
	for i, p := range facts.Photos {
		v.Photos[i] = photoView{Number: i + 1, Name: p.Name, SHA256: p.SHA256, Erased: names[i] == ""}
	}
	return c.pages.Render(w, r, ui.Page{Template: "certificate", Data: &v})
}

// document answers with the signed file. Any page may read it, to check it in a browser.
func (c *Certificates) document(w http.ResponseWriter, row *certificate.Issued) error {
	file, err := row.File()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Disposition", `inline; filename="certificate-`+row.ID+`.json"`)
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Content-Length", strconv.Itoa(len(file)))
	_, _ = w.Write(file) //nolint:gosec // JSON, and said so; a client that is gone is no failure
	return nil
}

// keys answers with the public keys: that of Live certificates, then that of Test certificates.
func (c *Certificates) keys(w http.ResponseWriter, _ *http.Request) error {
	b, err := json.MarshalIndent(c.service.CertificateKeys(), "", "  ")
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(append(b, '\n'))
	return nil
}

// photo answers with a derived image: the photo itself, with what its file tells about the owner, stays private.
func (c *Certificates) photo(w http.ResponseWriter, r *http.Request) error {
	row, err := c.service.Certificate(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	names, err := c.service.CertificatePhotos(r.Context(), row)
	if err != nil {
		return err
	}
	name, size, ok := strings.Cut(r.PathValue("size"), ".")
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 || n > len(names) || !ok || size != "jpg" || names[n-1] == "" ||
		!slices.Contains(imaging.Sizes, imaging.Size(name)) {
		return ui.PageNotFound()
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return c.pages.Site().PhotoFailed(w, r, c.images.Serve(w, r, names[n-1], imaging.Size(name)))
}
