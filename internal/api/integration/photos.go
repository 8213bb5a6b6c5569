package integration

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
)

// uploadResult is the result of one file: stored with its URL, or refused with an error.
type uploadResult struct {
	Status       string       `json:"status"`
	URL          string       `json:"url,omitempty"`
	OriginalName string       `json:"original_name"`
	Error        *uploadError `json:"error,omitempty"`

	refusal *fault.Error
}

type uploadError struct {
	StatusCode int            `json:"statusCode"`
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details"`
}

// uploadPhotos streams every file to the staging area first: what breaks the upload as a whole stores nothing.
func (a *API) uploadPhotos(w http.ResponseWriter, r *http.Request, c *call) error {
	results, uploads, err := a.stageFiles(w, r)
	defer func() {
		for _, u := range uploads {
			_ = u.Staged.Close()
		}
	}()
	if err != nil {
		return err
	}
	if len(uploads) == 0 {
		return results[0].refusal.With("data", results)
	}
	urls, err := a.Service.StorePhotos(r.Context(), c.key, uploads)
	if err != nil {
		return err
	}
	for i := range results {
		if results[i].refusal == nil {
			results[i].URL, urls = urls[0], urls[1:]
		}
	}
	return httpx.WriteJSON(w, http.StatusCreated, listView[uploadResult]{results})
}

// oversize is how many times the bytes that a full upload may hold are read before the connection is given up: a client
// that sends too much should still be told so.
const oversize = 4

// stageFiles reads the whole body. It returns one result for each file and an upload for each that passed.
func (a *API) stageFiles(w http.ResponseWriter, r *http.Request) (results []uploadResult, uploads []service.Upload, err error) {
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || params["boundary"] == "" {
		return nil, nil, fault.BadRequest("The body must be multipart/form-data with a boundary.").With("field", "Content-Type")
	}
	r.Body = http.MaxBytesReader(w, r.Body, oversize*service.MaxUploadFiles*a.MaxPhotoBytes+httpx.MaxBody)
	parts := newMultipartBody(r.Body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, uploads, a.brokenBody(err)
		}
		name := part.FileName()
		if name == "" {
			continue
		}
		if len(results) == service.MaxUploadFiles {
			_, _ = io.Copy(io.Discard, r.Body) // the answer reaches only a client that has finished sending
			return nil, uploads, fault.New(fault.Invalid, "photo-upload-limit-exceeded", "An upload holds at most 10 files.").
				With("max_files", service.MaxUploadFiles)
		}
		staged, info, err := a.stageFile(r, part)
		result := uploadResult{Status: "uploaded", OriginalName: photo.OriginalName(name)}
		if err != nil {
			refusal, err := a.refusalOf(err)
			if err != nil {
				return nil, uploads, err
			}
			result.Status, result.refusal = "failed", refusal
			result.Error = &uploadError{httpx.Status(refusal.Kind), refusal.Code, refusal.Message, refusal.Details}
			if result.Error.Details == nil {
				result.Error.Details = map[string]any{}
			}
		} else {
			uploads = append(uploads, service.Upload{Staged: staged, Info: info, OriginalName: result.OriginalName})
		}
		results = append(results, result)
	}
	if len(results) == 0 {
		return nil, nil, fault.Validation(fault.Problem{Field: "photos", Code: "required", Message: "must hold at least one part with a filename"})
	}
	return results, uploads, nil
}

func (a *API) stageFile(r *http.Request, part io.Reader) (*media.Staged, photo.Info, error) {
	staged, err := a.Staging.Stage(r.Context(), part, a.MaxPhotoBytes)
	if err != nil {
		return nil, photo.Info{}, err
	}
	info, err := photo.Inspect(staged, staged.Size())
	if err != nil {
		_ = staged.Close()
		return nil, photo.Info{}, err
	}
	return staged, info, nil
}

// refusalOf returns the refusal of one file, or the error that ends the whole upload.
func (a *API) refusalOf(err error) (*fault.Error, error) {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		return f, nil
	}
	if fault.CodeOf(err) != "" {
		return nil, err
	}
	return nil, a.brokenBody(err)
}

// brokenBody tells why a body could not be read: it is too large, cut off, too slow, or not what it says to be. All of
// these are the client's doing; a server that cannot write its own files has said so with a fault of its own.
func (a *API) brokenBody(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return photo.FileTooLarge(a.MaxPhotoBytes).Because(err)
	}
	return fault.BadRequest("The multipart body is broken: " + strings.TrimPrefix(err.Error(), "multipart: ")).Because(err)
}
