package certificate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
)

// pdf answers with the certificate on one sheet of paper, in both languages.
func (c *Certificates) pdf(
	w http.ResponseWriter, r *http.Request, row *certificate.Issued, facts *certificate.Certificate,
) error {
	names, err := c.service.CertificatePhotos(r.Context(), row)
	if err != nil {
		return err
	}
	read := func(ctx context.Context) (func() ([]byte, error), error) {
		photos, err := c.sheetPhotos(ctx, facts, names)
		if err != nil {
			return nil, err
		}
		site := c.pages.Site()
		s := &sheet{Certificate: facts, row: row, photos: photos, messages: site.Messages, issuer: site.Issuer}
		return s.draw, nil
	}
	b, err := c.pdfs.get(r.Context(), pdfKey(row, names), read)
	if err != nil {
		return fmt.Errorf("certificate %s as PDF: %w", row.ID, err)
	}
	writePDF(w, facts, b)
	return nil
}

// pdfKey is a hash of what a PDF is drawn from: another one is drawn when the certificate is revoked, or when a photo
// is erased.
func pdfKey(row *certificate.Issued, names []string) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %+v %q", row.ID, row.Revoked, names)
	return string(h.Sum(nil))
}

func writePDF(w http.ResponseWriter, facts *certificate.Certificate, b []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Disposition", `inline; filename="certificate-`+facts.OrderNumber+`.pdf"`)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // a client that is gone is no failure
}

// sheetPhoto is a photo on paper.
type sheetPhoto struct {
	image []byte
	name  text.Text
}

// sheetPhotos returns derived images of all photos that can be shown.
func (c *Certificates) sheetPhotos(
	ctx context.Context, facts *certificate.Certificate, names []string,
) ([]sheetPhoto, error) {
	var photos []sheetPhoto
	for i, name := range names {
		f, err := c.images.Open(ctx, name, imaging.Thumb)
		if errors.Is(err, imaging.ErrUndecodable) || errors.Is(err, media.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		p := sheetPhoto{image: b}
		if i < len(facts.Photos) {
			p.name = facts.Photos[i].Name
		}
		photos = append(photos, p)
	}
	return photos, nil
}
