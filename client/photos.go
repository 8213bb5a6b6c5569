package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
)

// photoField is the name of the multipart field of the files.
const photoField = "photos"

// File is one photo to upload. Content is read once, from its current position; the client does not close it.
type File struct {
	Name    string // comes back as [UploadResult.OriginalName], without its folders
	Content io.Reader
}

// UploadStatus says whether a file was stored.
type UploadStatus string

// Results of an upload.
const (
	UploadUploaded UploadStatus = "uploaded"
	UploadFailed   UploadStatus = "failed"
)

// UploadResult is the result for one file.
type UploadResult struct {
	Status       UploadStatus `json:"status"`
	URL          string       `json:"url,omitempty"`   // managed URL, to be sent unchanged; only when uploaded
	OriginalName string       `json:"original_name"`   // file name without its folders
	Error        *Error       `json:"error,omitempty"` // why the file was refused; only when failed
}

// Err returns the error of a file that was not stored, and nil for one that was.
func (r UploadResult) Err() error {
	if r.Status == UploadUploaded {
		return nil
	}
	if r.Error == nil {
		return fmt.Errorf("assay: %q was not stored, status %q", r.OriginalName, r.Status)
	}
	return r.Error
}

// UploadPhotos uploads up to 10 image files, streaming them, and returns one result for each file, in the same order.
// Some files may have failed: check [UploadResult.Err]. When no file was stored, the error is an [*Error] with the
// code of the first failure, and [Error.UploadResults] has the results of all files.
//
// Uploads are not idempotent and never repeated automatically. A photo that no order uses is deleted after some days,
// so sending files again after an ambiguous failure does no harm.
//
// If ctx is cancelled while a File's Content blocks, UploadPhotos returns although that Read is still running.
func (c *Client) UploadPhotos(ctx context.Context, files ...File) ([]UploadResult, error) {
	for i, file := range files {
		if file.Name == "" {
			return nil, fmt.Errorf("assay: file %d has no name", i)
		}
		if file.Content == nil {
			return nil, fmt.Errorf("assay: file %d (%q) has no content", i, file.Name)
		}
	}
	body, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	contentType := form.FormDataContentType()
	written := make(chan error, 1)
	go func() {
		err := writeFiles(form, files)
		_ = writer.CloseWithError(err) // never fails; nil ends the body
		written <- err
	}()

	// The transport does not give up a body that blocks: end it, so that a cancelled call returns.
	stop := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ctx.Err()) })
	defer stop()

	var answer uploadAnswer
	answer.files = len(files)
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/photos", stream: body, contentType: contentType,
	}, &answer)
	_ = body.Close() // lets the writer end when the answer came before the whole body was sent

	var writeErr error
	select {
	case writeErr = <-written:
	case <-ctx.Done():
	}
	if err == nil {
		return answer.Data, nil
	}
	var transport *transportError
	var unreadable unreadableFileError
	if errors.As(err, &transport) && errors.As(writeErr, &unreadable) {
		return nil, unreadable // the cause; the broken request is its consequence
	}
	return nil, err
}

func writeFiles(form *multipart.Writer, files []File) error {
	for _, file := range files {
		part, err := form.CreateFormFile(photoField, file.Name)
		if err != nil {
			return err
		}
		if _, err := io.Copy(part, fileReader{file}); err != nil {
			return err
		}
	}
	return form.Close()
}

// fileReader marks errors of a file's content, to distinguish them from those of the connection.
type fileReader struct{ file File }

func (r fileReader) Read(p []byte) (int, error) {
	n, err := r.file.Content.Read(p)
	if err != nil && err != io.EOF {
		err = unreadableFileError{fmt.Errorf("assay: read the file %q: %w", r.file.Name, err)}
	}
	return n, err
}

type unreadableFileError struct{ error }

// Unwrap returns the error of the file itself.
func (e unreadableFileError) Unwrap() error { return errors.Unwrap(e.error) }

// uploadAnswer checks that the results can be matched to the files by position.
type uploadAnswer struct {
	Data  []UploadResult `json:"data"`
	files int
}

func (a *uploadAnswer) missing() string {
	if len(a.Data) != a.files {
		return fmt.Sprintf("result for each of %d files, but %d", a.files, len(a.Data))
	}
	return ""
}
