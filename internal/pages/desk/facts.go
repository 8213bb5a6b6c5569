package desk

import (
	"net/http"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/pages/ui"
)

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
		return err
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
