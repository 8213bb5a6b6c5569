package desk

import (
	"maps"
	"net/http"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/pages/ui"
)

// original is the size of a photo as it was uploaded, for deep zoom.
const original = "original"

// picture is a managed file as pages show it.
type picture struct{ Name string }

// Thumb is its address in lists.
func (p picture) Thumb() string { return photoPath(p.Name, string(imaging.Thumb)) }

// Screen is its address in the size of a screen.
func (p picture) Screen() string { return photoPath(p.Name, string(imaging.Screen)) }

// Deep is where it can be looked at closely: the photo itself, or a converted one where hardly any browser shows the
// format.
func (p picture) Deep() string {
	if f, _ := photo.ParseName(p.Name); f == photo.HEIC || f == photo.HEIF {
		return photoPath(p.Name, string(imaging.Full))
	}
	return photoPath(p.Name, original)
}

// Converted is where a photo of a format that only newer browsers show is converted; empty: all know it.
func (p picture) Converted() string {
	if f, _ := photo.ParseName(p.Name); f == photo.AVIF {
		return photoPath(p.Name, string(imaging.Full))
	}
	return ""
}

func photoPath(name, size string) string { return "/desk/photos/" + name + "/" + size }

// servePhoto shows a photo in a size. A name is never given to other bytes, so a browser may keep the answer for good;
// no other cache may, for the pages of the desk are for staff only.
func (d *Desk) servePhoto(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	name, size := r.PathValue("name"), r.PathValue("size")
	format, ok := photo.ParseName(name)
	if !ok || size != original && !imaging.Size(size).Known() {
		return ui.PageNotFound()
	}
	header := w.Header()
	plain := header.Clone()
	header.Set("Cache-Control", "private, max-age=31536000, immutable")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox") // the bytes are untrusted
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("ETag", `"`+name+"-"+size+`"`)
	var err error
	if size == original || d.Images == nil {
		err = d.serveStored(w, r, name, format)
	} else {
		err = d.Images.Serve(w, r, name, imaging.Size(size))
	}
	if err == nil {
		return nil
	}
	clear(header) // nothing was written: the answer is a page
	maps.Copy(header, plain)
	return d.Site.PhotoFailed(w, r, err)
}

func (d *Desk) serveStored(w http.ResponseWriter, r *http.Request, name string, format photo.Format) error {
	file, err := d.Service.OpenPhoto(r.Context(), name)
	if err != nil {
		return err
	}
	ui.ServePhoto(w, r, file, format, file.ModTime())
	return nil
}
