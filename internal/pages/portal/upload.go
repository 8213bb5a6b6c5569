package portal

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/formdata"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/ui"
)

const (
	photoField  = "photo."  // and the index: a file
	unableField = "unable." // and the index: no photo can be supplied
	noteField   = "note"
	maxField    = 8 << 10  // bytes of a field that is no file
	maxFields   = 200      // that are no files
	maxText     = 64 << 10 // bytes of all of them
)

// knownField reports whether the form of an answer has a field that is no file.
func knownField(name string) bool {
	return name == noteField || strings.HasPrefix(name, unableField) || strings.HasPrefix(name, photoField)
}

// upload is a form with files, read once from beginning to end; the files wait on disk.
type upload struct {
	form    *ui.Form
	indexes []string // of the files, one by one
	files   []media.Upload
	fields  int // that are no files
	text    int // bytes of them
}

// readUpload reads a form with photos. A refusal of a file goes to its field in the form; other errors end the upload.
func (p *Portal) readUpload(w http.ResponseWriter, r *http.Request) (*upload, error) {
	u := &upload{form: ui.NewForm()}
	r.Body = http.MaxBytesReader(w, r.Body, (order.MaxPhotos+1)*(p.MaxPhotoBytes+maxField))
	parts, err := formdata.NewReader(r)
	if err != nil {
		return u, unreadable(err)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, unreadable(err)
		}
		if err := p.readPart(r, u, part); err != nil {
			return u, err
		}
	}
}

func (p *Portal) readPart(r *http.Request, u *upload, part *formdata.Part) error {
	index, isPhoto := strings.CutPrefix(part.FormName(), photoField)
	if part.FileName() == "" || !isPhoto {
		return u.readField(part)
	}
	if len(u.files) == order.MaxPhotos {
		u.form.Alert("portal.answer.too_many", "n", order.MaxPhotos)
		return nil
	}
	file, refusal, err := p.Staging.Accept(r.Context(), part, part.FileName(), p.MaxPhotoBytes)
	switch {
	case err != nil && fault.CodeOf(err) == "":
		return unreadable(err)
	case err != nil:
		return err
	case refusal != nil:
		u.form.Fail(photoField+index, "portal.answer.bad_file", "name", file.OriginalName, "reason",
			p.fileProblem(r, refusal))
		return nil
	}
	u.indexes = append(u.indexes, index)
	u.files = append(u.files, file)
	return nil
}

// readField reads a field that is no file. A browser sends few and small ones: the rest is refused before it is kept.
func (u *upload) readField(part *formdata.Part) error {
	name := part.FormName()
	if !knownField(name) {
		return fault.BadRequest("The form has no field " + strconv.Quote(text.Storable(name, maxName)) + ".")
	}
	if u.fields++; u.fields > maxFields {
		return fault.BadRequest(fmt.Sprintf("The form has more than %d fields.", maxFields))
	}
	value, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return unreadable(err)
	}
	if u.text += len(name) + len(value); len(value) > maxField || u.text > maxText {
		return fault.New(fault.TooLarge, "form-too-large", "The form is too large.")
	}
	if !strings.HasPrefix(name, photoField) { // a field for files that was left empty
		u.form.Values.Add(name, ui.PlainText(string(value)))
	}
	return nil
}

const maxName = 100 // characters of a name that is told

// unreadable is the refusal of a form whose body is cut off or is no form.
func unreadable(err error) error { return fault.BadRequest("The form cannot be read.").Because(err) }

// fileProblem says why a file was refused.
func (p *Portal) fileProblem(r *http.Request, f *fault.Error) string {
	if key := "portal.file." + strings.ToLower(strings.ReplaceAll(f.Code, "-", "_")); p.Site.Messages.Has(key) {
		return p.Site.T(r, key)
	}
	return f.Message
}

// answerRequest answers the photo request of an order with uploaded files.
func (p *Portal) answerRequest(w http.ResponseWriter, r *http.Request, who *visitor) error {
	httpx.ExpectUpload(r)
	// An order that is not there, or waits for nothing, is told before anything is read.
	actor := who.actor()
	o, err := p.Service.Order(r.Context(), actor, r.PathValue("id"))
	if err != nil {
		return err
	}
	if o.Status != order.UpdatePhotos {
		return order.NotAwaitingPhotos(o.Status)
	}
	u, err := p.readUpload(w, r)
	defer func() { media.CloseUploads(u.files) }()
	if err == nil {
		who, err = who.Again()
	}
	if err != nil {
		return err
	}
	actor = who.actor()
	if !u.form.OK() {
		return p.renderOrder(w, r, who, &orderPage{Answer: u.form}, u.form)
	}
	refuse := func(err error) error {
		if f, ok := errors.AsType[*fault.Error](err); ok {
			missing, _ := f.Details[order.MissingIndexCodes].([]string)
			for _, code := range missing {
				u.form.Fail(photoField+code, "portal.answer.missing")
			}
		}
		if err := p.pages.Refuse(u.form, err); err != nil {
			return err
		}
		return p.renderOrder(w, r, who, &orderPage{Answer: u.form}, u.form)
	}
	sub := &order.Submission{Note: u.form.Get(noteField)}
	if len(u.files) > 0 {
		urls, err := p.Service.StorePhotos(r.Context(), actor, u.files)
		if err != nil {
			return refuse(err)
		}
		for i := range urls {
			sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: u.indexes[i], URL: &urls[i]})
		}
	}
	for i := range o.Requested {
		if code := o.Requested[i].IndexCode; u.form.Get(unableField+code) != "" {
			sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: code, Unable: true})
		}
	}
	_, err = p.Service.SubmitPhotos(r.Context(), actor, o.ID, sub)
	switch {
	case fault.CodeOf(err) == order.CodeNotAwaitingPhotos: // somebody was faster: the page has no form that could say so
		return err
	case err != nil:
		return refuse(err)
	}
	to := who.base() + "/orders/" + o.ID
	if r.Header.Get("X-Upload") != "" {
		w = leave{w}
	}
	return p.Site.Redirect(w, r, to, ui.Done("portal.answer.sent"))
}

// leave answers a script that sent the form: it would follow a redirect itself and take the message that is meant for
// the visitor. It is told the address instead.
type leave struct{ http.ResponseWriter }

func (l leave) WriteHeader(status int) {
	if status == http.StatusSeeOther {
		status = http.StatusNoContent
	}
	l.ResponseWriter.WriteHeader(status)
}
