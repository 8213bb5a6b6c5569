package desk

import (
	"maps"
	"net/http"
	"strings"
	"time"

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
	if size == original {
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

// serveStored sends the file of a photo as it is stored.
func (d *Desk) serveStored(w http.ResponseWriter, r *http.Request, name string, format photo.Format) error {
	file, err := d.Service.OpenPhoto(r.Context(), name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	w.Header().Set("Content-Type", format.ContentType())
	http.ServeContent(w, r, "", file.ModTime(), file)
	return nil
}

// editHint says why a photo may have been edited.
type editHint string

const (
	notEdited    editHint = ""
	editedByTool editHint = "software" // a program that edits pictures has written the file
	editedLater  editHint = "later"    // the file was saved after the photo was taken
)

const (
	savingTakes = 2 * time.Minute // some cameras write the file a moment later
	exifTime    = "2006:01:02 15:04:05"
)

// editOf looks for signs that a photo was edited. Anyone can write anything into a file: it is a hint.
func editOf(f *imaging.Exif) editHint {
	if f.Edited() {
		return editedByTool
	}
	taken, err := time.Parse(exifTime, f.TakenAt)
	if err != nil {
		return notEdited
	}
	if saved, err := time.Parse(exifTime, f.SavedAt); err == nil && saved.Sub(taken) > savingTakes {
		return editedLater
	}
	return notEdited
}

// cameraTime writes the time of a camera as people do; it seldom knows its time zone.
func cameraTime(s string) string {
	t, err := time.Parse(exifTime, s)
	if err != nil {
		return s
	}
	return t.Format(time.DateTime)
}

type factsView struct {
	Photo  *photo.Stored
	Format string
	Facts  *imaging.Exif
	Taken  string
	Edited editHint
}

// Original is the address of the file as it was uploaded.
func (v factsView) Original() string { return photoPath(v.Photo.Name, original) }

// showFacts shows what is known of a photo: as a page, or as a part of one for the viewer.
func (d *Desk) showFacts(w http.ResponseWriter, r *http.Request, who *visitor) error {
	name := r.PathValue("name")
	format, ok := photo.ParseName(name)
	if !ok {
		return ui.PageNotFound()
	}
	row, err := d.Service.Photo(r.Context(), actorOf(who), name)
	if err != nil {
		return err
	}
	file, err := d.Service.OpenPhoto(r.Context(), name)
	if err != nil {
		return d.Site.PhotoFailed(w, r, err)
	}
	defer func() { _ = file.Close() }() // opened for reading only
	facts, err := imaging.ReadExif(file, format)
	if err != nil {
		d.Site.Log.WarnContext(r.Context(), "facts of a photo cannot be read", "name", name, "error", err)
	}
	v := factsView{
		Photo: row, Format: strings.ToUpper(string(format)), Facts: &facts, Taken: cameraTime(facts.TakenAt),
		Edited: editOf(&facts),
	}
	if r.URL.Query().Has("part") {
		return d.pages.Fragment(w, r, "facts", "facts", v)
	}
	return d.pages.Render(w, r, ui.Page{Template: "facts", Data: v})
}
