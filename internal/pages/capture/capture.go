// Package capture is the page behind a capture link: a seller takes the photos of an item on a phone. Whoever knows the
// address may use it, and nothing else of the account is visible through it.
package capture

import (
	"context"
	"embed"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

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

//go:embed templates messages static
var files embed.FS

// Area is the templates, texts and static files of the page, for ui.New.
var Area = ui.Area{Name: "capture", Files: files}

// Prefix is where the pages are. What follows it is a secret.
const Prefix = "/" + segment + "/"

const segment = "capture"

// Config is what the pages work with.
type Config struct {
	Site          *ui.Site
	Service       *service.Service
	Staging       *media.Staging
	MaxPhotoBytes int64
	Images        *imaging.Cache
	Limiter       ratelimit.Limiter
	Failures      ratelimit.FailureCounter // of addresses that guess
	Responder     *httpx.Responder         // answers the script of the page
}

// Pages serves the page and what its script asks for.
type Pages struct {
	Config
	pages *ui.Pages
}

// New returns the pages over a site that was made with Area.
func New(c Config) *Pages {
	p := &Pages{Config: c, pages: c.Site.Pages(Area.Name)}
	p.pages.Shell = func(r *http.Request) ui.Shell { return ui.Shell{Home: r.URL.Path} } // the mark leads nowhere else
	return p
}

// Routes mounts the pages.
func (p *Pages) Routes(mux *http.ServeMux) {
	for pattern, handler := range p.table() {
		mux.Handle(pattern, handler)
	}
}

// Patterns returns the addresses of all pages, for tests that look at each.
func (p *Pages) Patterns() []string { return slices.Collect(maps.Keys(p.table())) }

func (p *Pages) table() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /capture/{token}":                 p.pages.Handle(p.show),
		"GET /capture/{token}/photos/{key}":    p.pages.Handle(p.showPhoto),
		"PUT /capture/{token}/photos/{key}":    p.Responder.Handle(p.addPhoto),
		"DELETE /capture/{token}/photos/{key}": p.Responder.Handle(p.removePhoto),
		"POST /capture/{token}":                p.Responder.Handle(p.submit),
	}
}

// pageView is what the page shows.
type pageView struct {
	*service.Capture
	Path      string
	Indexes   []indexView
	MaxBytes  int64
	MaxSide   int
	MaxPixels int
}

type indexView struct {
	capture.Wanted
	Number int
	Photos []capture.Photo
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request) error {
	c, err := p.find(r, ratelimit.Read, p.Service.Capture)
	if err != nil {
		return err
	}
	v := pageView{
		Capture: c, Path: r.URL.Path, MaxBytes: p.MaxPhotoBytes, MaxSide: photo.MaxSide, MaxPixels: photo.MaxPixels,
	}
	for i, wanted := range c.Wanted {
		x := indexView{Wanted: wanted, Number: i + 1}
		for _, photo := range c.Photos {
			if photo.IndexCode == wanted.Code {
				x.Photos = append(x.Photos, photo)
			}
		}
		v.Indexes = append(v.Indexes, x)
	}
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer") // the address is a secret
	h.Set("Permissions-Policy", strings.Replace(h.Get("Permissions-Policy"), "camera=()", "camera=(self)", 1))
	h.Set("Content-Security-Policy", withExamples(h.Get("Content-Security-Policy"), c.Wanted))
	status := http.StatusOK
	if c.Status == capture.Expired || c.Status == capture.Revoked {
		status = http.StatusGone
	}
	page := "capture"
	if c.Status != capture.Open {
		page = "ended"
	}
	return p.pages.Render(w, r, ui.Page{Template: page, Data: v, Status: status})
}

// withExamples lets the page show the catalog's examples, which may be on other hosts.
func withExamples(policy string, wanted []capture.Wanted) string {
	var hosts []string
	for i := range wanted {
		u, err := url.Parse(wanted[i].Example)
		if err != nil || u.Host == "" || strings.ContainsAny(u.Host, " ;,'") {
			continue
		}
		if host := u.Scheme + "://" + u.Host; !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if hosts == nil {
		return policy
	}
	return strings.Replace(policy, "img-src ", "img-src "+strings.Join(hosts, " ")+" ", 1)
}

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
	if err := ui.Count(r.Context(), p.Limiter, "capture "+c.ID, category, limits[category]); err != nil {
		return nil, err
	}
	return c, nil
}

// photoKey is the form of the keys that the page gives its photos.
var photoKey = regexp.MustCompile(`^[A-Za-z0-9-]{8,64}$`)

// addPhoto takes the file that is the body. Sent again under the same key, it is there already.
func (p *Pages) addPhoto(w http.ResponseWriter, r *http.Request) error {
	c, err := p.find(r, ratelimit.Upload, p.Service.OpenCapture)
	if fault.KindOf(err) != fault.NotFound {
		httpx.ExpectUpload(r) // that the link has ended, too, reaches only who has sent the photo
	}
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
		httpx.Drain(r, httpx.MaxDrain)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
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

// unreadable says why a body could not be read. One that was cut off or took too long may arrive whole the next time.
func (p *Pages) unreadable(err error) error {
	if fault.CodeOf(err) != "" {
		return err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return photo.FileTooLarge(p.MaxPhotoBytes).Because(err)
	}
	return fault.New(fault.Incomplete, "incomplete-photo", "The photo was not received completely.").Because(err)
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
