package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
)

const (
	shutdownLimit = 10 * time.Second
	leeway        = 10 * time.Second // for a busy machine; one that waits for its clients has no end
)

// slowUpload is an upload whose second half is sent on demand.
type slowUpload struct {
	body   *io.PipeWriter
	form   *multipart.Writer
	part   io.Writer
	photo  []byte
	answer chan uploadAnswer
}

type uploadAnswer struct {
	status int
	body   []byte
	err    error
}

// beginUpload sends half of a photo and returns when the server has started to read it.
func beginUpload(t *testing.T, through *http.Client, base string, k key) *slowUpload {
	t.Helper()
	reader, writer := io.Pipe()
	u := &slowUpload{
		body: writer, form: multipart.NewWriter(writer), photo: newPhoto(1 << 20), answer: make(chan uploadAnswer, 1),
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/photos", reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", u.form.FormDataContentType())
	request.Header.Set("Authorization", "Bearer "+k.Key)
	request.Header.Set("Expect", "100-continue") // the client sends the body when the server has begun to read it
	go func() {
		response, err := through.Do(request)
		if err != nil {
			u.answer <- uploadAnswer{err: err}
			return
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		u.answer <- uploadAnswer{response.StatusCode, body, err}
	}()
	if u.part, err = u.form.CreateFormFile("photos", "slow.png"); err != nil {
		t.Fatal(err)
	}
	if _, err := u.part.Write(u.photo[:len(u.photo)/2]); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *slowUpload) finish(t *testing.T) uploadAnswer {
	t.Helper()
	if _, err := u.part.Write(u.photo[len(u.photo)/2:]); err != nil {
		t.Errorf("send the second half: %v", err)
	}
	if err := u.form.Close(); err != nil {
		t.Errorf("end the form: %v", err)
	}
	_ = u.body.Close()
	return <-u.answer
}

// TestShutdown stops the server during an upload: it must finish, and new connections must be refused.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP1", "HTTP2"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			a := s.open(t)
			through, base := http.DefaultClient, s.URL(prefix)
			if protocol == "HTTP2" {
				through, base = &http.Client{Transport: s.transport(t)}, baseURL
			}
			s.get(t, a.Test.Key, prefix+"/balance").wantStatus(t, http.StatusOK) // leaves an idle connection behind
			running := beginUpload(t, through, base, a.Live)

			stopped := make(chan error, 1)
			began := time.Now()
			go func() {
				if code := s.Stop(t); code != 0 {
					stopped <- fmt.Errorf("exit code %d, want 0", code)
				}
				close(stopped)
			}()
			must.Eventually(t, time.Minute, "new connections are refused", func() bool {
				return refused(s.HTTP) && refused(s.TLS)
			})
			got := running.finish(t)
			if got.err != nil || got.status != http.StatusCreated {
				t.Errorf("the running upload: status %d, %v\n%s", got.status, got.err, got.body)
			}
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took >= shutdownLimit {
				t.Errorf("the server needed %s although nothing was running any more", took)
			}

			var results struct{ Data []struct{ URL string } }
			if err := json.Unmarshal(got.body, &results); err != nil || len(results.Data) != 1 {
				t.Fatalf("the upload answered %s", got.body)
			}
			draft := tote(results.Data[0].URL)
			if _, err := s.again(t).client(t, a.Live).CreateOrder(t.Context(), draft); err != nil {
				t.Errorf("the photo of the last upload cannot be used: %v", err)
			}
		})
	}
}

// TestShutdown_Stuck stops a server whose client never finishes: it must still end in time.
func TestShutdown_Stuck(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	a := s.open(t)
	running := beginUpload(t, http.DefaultClient, s.URL(prefix), a.Test)
	began := time.Now()
	if code := s.Stop(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(began); took > shutdownLimit+leeway {
		t.Errorf("the server needed %s, %s is the limit", took, shutdownLimit)
	}
	_ = running.body.Close()
	if got := <-running.answer; got.err == nil && got.status == http.StatusCreated {
		t.Error("half an upload was stored")
	}
}

// refused reports whether nothing accepts connections at the address.
func refused(address string) bool {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return true
	}
	_ = connection.Close()
	return false
}
