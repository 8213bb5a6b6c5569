package integration

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/formdata"
	"github.com/assayhq/assay/internal/httpx/input"
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

// uploadPhotos streams every file to the staging area first: an upload that is broken stores nothing.
func (a *API) uploadPhotos(w http.ResponseWriter, r *http.Request, c *call) error {
	results, uploads, err := a.acceptFiles(w, r)
	defer func() { media.CloseUploads(uploads) }()
	if err != nil {
		return err
	}
	if _, err := a.authenticate(r); err != nil { // the key may have been revoked meanwhile
		return err
	}
	if len(uploads) == 0 {
		return results[0].refusal.With("data", results)
	}
	urls, err := a.Service.StorePhotos(r.Context(), c.actor(r), uploads)
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

// acceptFiles reads the complete body. It returns one result for each file and an upload for each that passed.
func (a *API) acceptFiles(w http.ResponseWriter, r *http.Request) (
	results []uploadResult, uploads []media.Upload, err error,
) {
	r.Body = http.MaxBytesReader(w, r.Body, oversize*service.MaxUploadFiles*a.MaxPhotoBytes+input.MaxBody)
	parts, err := formdata.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
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
		u, refusal, err := a.Staging.Accept(r.Context(), part, name, a.MaxPhotoBytes)
		if err != nil {
			return nil, uploads, a.brokenBody(err)
		}
		result := uploadResult{Status: "uploaded", OriginalName: u.OriginalName}
		if refusal == nil {
			uploads = append(uploads, u)
		} else {
			result.refuse(refusal)
		}
		results = append(results, result)
	}
	if len(results) == 0 {
		return nil, nil, fault.InvalidField("photos", "required", "must hold at least one part with a filename")
	}
	return results, uploads, nil
}

func (u *uploadResult) refuse(refusal *fault.Error) {
	u.Status, u.refusal = "failed", refusal
	u.Error = &uploadError{httpx.Status(refusal.Kind), refusal.Code, refusal.Message, refusal.Details}
	if u.Error.Details == nil {
		u.Error.Details = map[string]any{}
	}
}

// brokenBody says why a body could not be read: it is too large, cut off, too slow, or not what it claims to be. All of
// these are the client's fault; a server that cannot write its own files has said so with a fault of its own.
func (a *API) brokenBody(err error) error {
	if fault.CodeOf(err) != "" {
		return err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return photo.FileTooLarge(a.MaxPhotoBytes).Because(err)
	}
	if errors.Is(err, context.Canceled) { // the client has closed its side, and waits for no answer
		return err
	}
	return fault.BadRequest("The multipart body is broken: " + err.Error()).Because(err)
}
