package capture

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"

	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

// limits are the requests of a link in a minute: enough for any phone, too few to fill a disk quickly.
var limits = map[string]int{ratelimit.Read: 300, ratelimit.Upload: 60, ratelimit.Update: 60}

// find returns the link of a request. Unknown secrets count against the address, known ones against the link.
func (p *Pages) find(
	r *http.Request, category string, read func(context.Context, string) (*service.Capture, error),
) (*service.Capture, error) {
	c, err := read(r.Context(), r.PathValue("token"))
	if errors.Is(err, capture.NotFound) {
		return nil, httpx.CountFailure(p.Failures, r, err)
	}
	if err != nil {
		return nil, err
	}
	d, err := p.Limiter.Take(r.Context(), "capture "+c.ID, category, limits[category])
	if err != nil {
		return nil, fault.UnavailableError(err)
	}
	if !d.Allowed {
		return nil, fault.New(fault.RateLimited, fault.CodeRateLimited, "Too many requests.").After(d.RetryAfter)
	}
	return c, nil
}

// photoKey is the form of the keys that the page gives its photos.
var photoKey = regexp.MustCompile(`^[A-Za-z0-9-]{8,64}$`)

// addPhoto takes the file that is the body. Sent again under the same key, it is there already.
func (p *Pages) addPhoto(w http.ResponseWriter, r *http.Request) error {
	c, err := p.find(r, ratelimit.Upload, p.Service.OpenCapture)
	if err != nil {
		return err
	}
	key, index := r.PathValue("key"), r.URL.Query().Get("index")
	if !photoKey.MatchString(key) {
		return ui.PageNotFound()
	}
	have, err := p.Service.CheckCapturePhoto(c, key, index)
	if err != nil {
		return err
	}
	if have {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	httpx.ExpectUpload(r)
	r.Body = http.MaxBytesReader(w, r.Body, p.MaxPhotoBytes+1)
	file, refusal, err := p.Staging.Accept(r.Context(), r.Body, index+".jpg", p.MaxPhotoBytes)
	if err != nil {
		return p.unreadable(err)
	}
	if refusal != nil {
		return refusal
	}
	defer media.CloseUploads([]media.Upload{file})
	if err := p.Service.AddCapturePhoto(r.Context(), c, key, index, file); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// unreadable says why a body could not be read.
func (p *Pages) unreadable(err error) error {
	if fault.CodeOf(err) != "" {
		return err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return photo.FileTooLarge(p.MaxPhotoBytes).Because(err)
	}
	return fault.BadRequest("The photo was not received completely.").Because(err)
}

func (p *Pages) removePhoto(w http.ResponseWriter, r *http.Request) error {
	c, err := p.find(r, ratelimit.Update, p.Service.OpenCapture)
	if err != nil {
		return err
	}
	if err := p.Service.RemoveCapturePhoto(r.Context(), c, r.PathValue("key")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// showPhoto answers with a small picture of a photo that was sent, while the link is open.
func (p *Pages) showPhoto(w http.ResponseWriter, r *http.Request) error {
	c, err := p.find(r, ratelimit.Read, p.Service.OpenCapture)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(c.Photos, func(photo capture.Photo) bool { return photo.Key == r.PathValue("key") })
	if at < 0 {
		return ui.PageNotFound()
	}
	return p.Site.PhotoFailed(w, r, p.Images.Serve(w, r, c.Photos[at].Name, imaging.Thumb))
}

// maxForm is how many bytes of a submission are read.
const maxForm = 16 << 10

// submit ends the link. The form holds the requested indexes that cannot be provided.
func (p *Pages) submit(w http.ResponseWriter, r *http.Request) error {
	c, err := p.find(r, ratelimit.Update, p.Service.OpenCapture)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return fault.BadRequest("The form cannot be read.").Because(err)
	}
	if err := p.Service.SubmitCapture(r.Context(), c, r.PostForm["unable"]); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
