package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
)

type part struct{ Field, Filename, Content string }

// parts reads the multipart body of a recorded request.
func parts(t *testing.T, r seenRequest) []part {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, r.URI, strings.NewReader(r.Body))
	noError(t, err)
	req.Header = r.Header
	return partsOf(t, req)
}

func partsOf(t *testing.T, r *http.Request) []part {
	t.Helper()
	reader, err := r.MultipartReader()
	noError(t, err)
	var found []part
	for {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return found
		}
		noError(t, err)
		content, err := io.ReadAll(p)
		noError(t, err)
		found = append(found, part{Field: p.FormName(), Filename: p.FileName(), Content: string(content)})
	}
}

func TestUploadPhotos(t *testing.T) {
	s := newService(t, answer(201, `{"data":[
		{"status":"uploaded","url":"https://m.example/media/a","original_name":"front \"1\".jpg"},
		{"status":"failed","original_name":"notes.txt","error":{"statusCode":413,"code":"FILE_TOO_LARGE",
			"message":"too large","details":{"max_bytes":10485760}}}]}`))
	got, err := s.client().UploadPhotos(t.Context(),
		client.File{Name: `front "1".jpg`, Content: strings.NewReader("jpeg bytes")},
		client.File{Name: "注文.txt", Content: strings.NewReader("")},
	)
	noError(t, err)

	r := s.only()
	equal(t, "method", r.Method, "POST")
	equal(t, "URI", r.URI, "/v1/integrations/photos")
	equal(t, "parts", parts(t, r), []part{
		{"photos", `front "1".jpg`, "jpeg bytes"},
		{"photos", "注文.txt", ""},
	})

	equal(t, "results", len(got), 2)
	equal(t, "first", got[0], client.UploadResult{
		Status: client.UploadUploaded, URL: "https://m.example/media/a", OriginalName: `front "1".jpg`,
	})
	noError(t, got[0].Err())
	equal(t, "second", got[1].Status, client.UploadFailed)
	equal(t, "second's code", client.IsCode(got[1].Err(), client.CodeFileTooLarge), true)
	equal(t, "second's status", got[1].Error.StatusCode, 413)
	equal(t, "second's limit", got[1].Error.MaxBytes(), int64(10485760))
}

func TestUploadWithoutFiles(t *testing.T) {
	s := newService(t, answer(400, `{"code":"validation-error"}`))
	_, err := s.client().UploadPhotos(t.Context())
	equal(t, "is validation-error", client.IsCode(err, client.CodeValidation), true)
	equal(t, "parts", parts(t, s.only()), []part(nil))
}

func TestUploadFailsAsAWhole(t *testing.T) {
	s := newService(t, answer(400, `{"statusCode":400,"code":"INVALID_FILE_TYPE","message":"m","details":{"data":[
		{"status":"failed","original_name":"a.txt","error":{
			"statusCode":400,"code":"INVALID_FILE_TYPE","message":"m","details":{}}},
		{"status":"failed","original_name":"b.jpg","error":{
			"statusCode":400,"code":"empty-photo-file","message":"m","details":{}}}]}}`))
	results, err := s.client().UploadPhotos(t.Context(),
		client.File{Name: "a.txt", Content: strings.NewReader("a")},
		client.File{Name: "b.jpg", Content: strings.NewReader("")},
	)
	equal(t, "results", results, []client.UploadResult(nil))
	var e *client.Error
	if !errors.As(err, &e) || e.Code != client.CodeInvalidFileType {
		t.Fatalf("got %v", err)
	}
	all := e.UploadResults()
	equal(t, "results in the error", len(all), 2)
	equal(t, "second's name", all[1].OriginalName, "b.jpg")
	equal(t, "second's code", client.IsCode(all[1].Err(), client.CodeEmptyPhotoFile), true)
}

func TestUploadResultWithoutError(t *testing.T) {
	err := client.UploadResult{Status: client.UploadFailed, OriginalName: "a.jpg"}.Err()
	if err == nil || client.IsCode(err, client.CodeFileTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestUploadRefusedLocally(t *testing.T) {
	for _, tt := range []struct {
		name string
		file client.File
	}{
		{"NoName", client.File{Content: strings.NewReader("x")}},
		{"NoContent", client.File{Name: "a.jpg"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newService(t).client().UploadPhotos(t.Context(), tt.file)
			if err == nil || client.IsAmbiguous(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUploadIsNeverRepeated(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"Unavailable": answerWith(503, `{"code":"service-unavailable"}`, map[string]string{"Retry-After": "1"}),
		"RateLimited": answerWith(429, `{"code":"rate-limit-exceeded"}`, map[string]string{"Retry-After": "1"}),
		"HangUp":      hangUp,
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, first)
			_, err := s.client().UploadPhotos(t.Context(), client.File{Name: "a.jpg", Content: strings.NewReader("x")})
			if err == nil {
				t.Error("no error")
			}
			equal(t, "requests", len(s.requests()), 1)
		})
	}
}

func TestUploadWithAnotherNumberOfResults(t *testing.T) {
	s := newService(t, answer(201, `{"data":[]}`))
	_, err := s.client().UploadPhotos(t.Context(), client.File{Name: "a.jpg", Content: strings.NewReader("x")})
	if !errors.Is(err, client.ErrUnexpectedAnswer) {
		t.Errorf("got %v", err)
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

func TestUploadOfAnUnreadableFile(t *testing.T) {
	broken := errors.New("disk on fire")
	s := newService(t, answer(400, `{"code":"bad-request"}`))
	_, err := s.client().UploadPhotos(t.Context(),
		client.File{Name: "good.jpg", Content: bytes.NewReader(make([]byte, 1<<20))},
		client.File{Name: "bad.jpg", Content: brokenReader{broken}},
	)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), `"bad.jpg"`) {
		t.Errorf("got %v", err)
	}
}

// endlessReader never ends: an upload of it must stop when the answer is there.
type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }

func TestUploadStopsWhenRefusedEarly(t *testing.T) {
	server := httptest.NewServer(answerWith(401, `{"code":"unauthorized"}`, map[string]string{"Connection": "close"}))
	defer server.Close()
	c, err := client.New(server.URL, testKey)
	noError(t, err)
	_, err = c.UploadPhotos(t.Context(), client.File{Name: "a.jpg", Content: endlessReader{}})
	if err == nil { // the refusal, or a broken connection if that is noticed first
		t.Error("no error")
	}
}

func TestUploadIsStreamed(t *testing.T) {
	// The second half of the file is produced only after the service has read the first.
	source, sink := io.Pipe()
	halfRead := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reader, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return
		}
		p, err := reader.NextPart()
		if err != nil {
			t.Error(err)
			return
		}
		if err := readHalves(p, halfRead); err != nil {
			t.Error(err)
		}
		equal(t, "content length", r.ContentLength, int64(-1))
		answer(201, `{"data":[{"status":"uploaded","url":"https://m.example/a","original_name":"a.jpg"}]}`)(w, r)
	}))
	defer server.Close()
	go func() {
		_, _ = sink.Write(bytes.Repeat([]byte("1"), 64<<10))
		<-halfRead
		_, _ = sink.Write([]byte("2"))
		_ = sink.Close()
	}()
	c, err := client.New(server.URL, testKey)
	noError(t, err)
	_, err = c.UploadPhotos(t.Context(), client.File{Name: "a.jpg", Content: source})
	noError(t, err)
}

func readHalves(p *multipart.Part, halfRead chan<- struct{}) error {
	// The reader holds back what could be the beginning of a boundary, so less than everything is asked for.
	if _, err := io.CopyN(io.Discard, p, 32<<10); err != nil {
		return err
	}
	close(halfRead)
	rest, err := io.ReadAll(p)
	if err == nil && (len(rest) != 32<<10+1 || rest[len(rest)-1] != '2') {
		err = fmt.Errorf("the rest has %d bytes", len(rest))
	}
	return err
}

func TestUploadCancelledWhileAFileBlocks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	blocking, sink := io.Pipe()
	defer func() { _ = sink.Close() }()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	c, err := client.New(server.URL, testKey)
	noError(t, err)
	_, err = c.UploadPhotos(ctx, client.File{Name: "a.jpg", Content: blocking})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
