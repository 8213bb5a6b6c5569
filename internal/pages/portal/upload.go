package portal

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

const (
	photoField  = "photo."  // and the index: a file
	unableField = "unable." // and the index: no photo can be supplied
	maxField    = 8 << 10   // bytes of a field that is no file
)

// upload is a form with files, read once from beginning to end; the files wait on disk.
type upload struct {
	form    *ui.Form
	indexes []string // of the files, one by one
	files   []service.Upload
}

func (u *upload) close() {
	for _, f := range u.files {
		_ = f.Staged.Close() // what cannot be removed now is removed at the next start
	}
}

// readUpload reads a form with photos. A refusal of a file goes to its field in the form; other errors end the upload.
func (p *Portal) readUpload(w http.ResponseWriter, r *http.Request) (*upload, error) {
	u := &upload{form: ui.NewForm()}
	httpx.ExpectUpload(r)
	r.Body = http.MaxBytesReader(w, r.Body, (order.MaxPhotos+1)*(p.MaxPhotoBytes+maxField))
	parts, err := r.MultipartReader()
	if err != nil {
		return u, fault.BadRequest("The form cannot be read.").Because(err)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, fault.BadRequest("The form cannot be read.").Because(err)
		}
		if err := p.readPart(r, u, part); err != nil {
			return u, err
		}
	}
}

func (p *Portal) readPart(r *http.Request, u *upload, part *multipart.Part) error {
	index, isPhoto := strings.CutPrefix(part.FormName(), photoField)
	if part.FileName() == "" || !isPhoto {
		value, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil {
			return fault.BadRequest("The form cannot be read.").Because(err)
		}
		if !isPhoto {
			u.form.Values.Add(part.FormName(), strings.ReplaceAll(strings.ToValidUTF8(string(value), "\uFFFD"), "\x00", "\uFFFD"))
		}
		return nil
	}
	if len(u.files) == order.MaxPhotos {
		u.form.Alert("portal.answer.too_many", "n", order.MaxPhotos)
		return nil
	}
	staged, err := p.Staging.Stage(r.Context(), part, p.MaxPhotoBytes)
	var info photo.Info
	if err == nil {
		if info, err = photo.Inspect(staged, staged.Size()); err != nil {
			_ = staged.Close()
		}
	}
	if err != nil {
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind == fault.Unavailable {
			return err
		}
		u.form.Fail(photoField+index, "portal.answer.bad_file", "name", photo.OriginalName(part.FileName()), "reason", p.fileProblem(r, f))
		_, _ = io.Copy(io.Discard, part) // the rest of a file that is too large
		return nil
	}
	u.indexes = append(u.indexes, index)
	u.files = append(u.files, service.Upload{Staged: staged, Info: info, OriginalName: photo.OriginalName(part.FileName())})
	return nil
}

// fileProblem says why a file is no photo.
func (p *Portal) fileProblem(r *http.Request, f *fault.Error) string {
	if key := "portal.file." + strings.ToLower(strings.ReplaceAll(f.Code, "-", "_")); p.Site.Messages.Has(key) {
		return p.Site.T(r, key)
	}
	return f.Message
}

// answerRequest answers the photo request of an order with uploaded files.
func (p *Portal) answerRequest(w http.ResponseWriter, r *http.Request, who *visitor, env access.Environment) error {
	// An order that is not there, or waits for nothing, is told before anything is read.
	o, err := p.Service.PortalOrder(r.Context(), who.User, env, r.PathValue("id"))
	if err != nil {
		return err
	}
	if o.Status != order.UpdatePhotos {
		return order.NotAwaitingPhotos(o.Status)
	}
	u, err := p.readUpload(w, r)
	defer u.close()
	if err != nil {
		return err
	}
	if !u.form.OK() {
		return p.renderOrder(w, r, who, env, &orderView{Answer: u.form}, http.StatusUnprocessableEntity)
	}
	sub := &order.Submission{Note: u.form.Get("note")}
	if len(u.files) > 0 {
		urls, err := p.Service.StoreOwnPhotos(r.Context(), who.User, env, u.files)
		if err != nil {
			return err
		}
		for i := range urls {
			sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: u.indexes[i], URL: &urls[i]})
		}
	}
	for i := range o.Facts.Requested {
		if code := o.Facts.Requested[i].IndexCode; u.form.Get(unableField+code) != "" {
			sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: code, Unable: true})
		}
	}
	if err := p.Service.AnswerPhotoRequest(r.Context(), who.User, env, o.ID, sub); err != nil {
		if err := p.refuseField(u.form, err); err != nil {
			return err
		}
		return p.renderOrder(w, r, who, env, &orderView{Answer: u.form}, http.StatusUnprocessableEntity)
	}
	to := home + "/" + string(env) + "/orders/" + o.ID
	if r.Header.Get("X-Upload") != "" {
		w = leave{w}
	}
	return p.Site.Redirect(w, r, to, ui.Done("portal.answer.sent"))
}

// leave answers a script that sent the form: it would follow a redirect itself and take the message that is meant for the
// visitor. It is told the address instead.
type leave struct{ http.ResponseWriter }

func (l leave) WriteHeader(status int) {
	if status == http.StatusSeeOther {
		status = http.StatusNoContent
	}
	l.ResponseWriter.WriteHeader(status)
}
