package e2e_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/s3test"
)

// TestS3 runs two nodes on a bucket: photos and what pages show of them are shared, the proof and backups read the
// bucket, and a backup restores into another one.
func TestS3(t *testing.T) {
	server := s3test.Start(t)
	settings := program.Settings{"database": pgtest.Database(t), "secret-key": secretKey, "media": server.Bucket(t)}
	s := start(t, settings)
	other := start(t, settings)
	a := s.open(t)
	c := s.client(t, a.Live)
	photo := newPhoto(1 << 20)
	results, err := c.UploadPhotos(t.Context(), client.File{Name: "bag.png", Content: bytes.NewReader(photo)})
	if err != nil || results[0].Err() != nil {
		t.Fatal(err, results)
	}
	address := results[0].URL
	for _, node := range []*site{s, other} {
		got := fetch(t, &http.Client{Transport: node.transport(t)}, address)
		if !bytes.Equal(got, photo) {
			t.Errorf("a node serves %d bytes, or others than the %d that were uploaded", len(got), len(photo))
		}
	}
	created, err := c.CreateOrder(t.Context(), tote(address))
	if err != nil {
		t.Fatal(err)
	}
	if proof := runCheck(t, s); proof.Orders != 1 {
		t.Errorf("the proof is %+v", proof)
	}
	for _, data := range []string{s.data, other.data} {
		if entries, err := os.ReadDir(filepath.Join(data, "media")); err == nil {
			t.Errorf("there are photos on disk: %v", entries)
		}
	}
	folder := filepath.Join(t.TempDir(), "backup")
	var summary struct{ Photos int }
	s.CLI(t, &summary, "backup", folder)
	if summary.Photos != 1 {
		t.Errorf("the backup says %+v", summary)
	}
	for name, place := range map[string]program.Settings{
		"ToDisk": {"secret-key": secretKey},
		"ToS3":   {"database": pgtest.Database(t), "secret-key": secretKey, "media": server.Bucket(t)},
	} {
		t.Run(name, func(t *testing.T) { checkRestored(t, folder, place, a, address, []string{created.ID}) })
	}
}

// TestS3_Outage kills the S3 server under a running one: what needs photos is refused as unavailable, everything else
// goes on, and all is well by itself when it is back.
func TestS3_Outage(t *testing.T) {
	server := s3test.Start(t)
	s := start(t, program.Settings{"media": server.Bucket(t)})
	s.failures = true
	a := s.open(t)
	c := s.client(t, a.Live)
	address := upload(t, c, 1)[0]
	s.ops(t, "/readyz").wantStatus(t, http.StatusOK)

	server.Kill(t)
	ready := s.ops(t, "/readyz")
	if ready.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(ready.body), `"media":{"ok":false`) {
		t.Errorf("readyz: %d %s", ready.StatusCode, ready.body)
	}
	var refused *client.Error
	_, err := c.UploadPhotos(t.Context(), client.File{Name: "a.png", Content: bytes.NewReader(newPhoto(0))})
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusServiceUnavailable || refused.RetryAfter <= 0 {
		t.Errorf("an upload: %#v", err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	photo := send(t, &http.Client{Transport: s.transport(t)}, request)
	photo.wantStatus(t, http.StatusServiceUnavailable)
	if photo.Header.Get("Retry-After") == "" {
		t.Error("a photo: no Retry-After")
	}
	if _, err := c.CreateOrder(t.Context(), tote(address)); err != nil { // its photo is known
		t.Errorf("an order meanwhile: %v", err)
	}

	server.Restart(t)
	must.Eventually(t, time.Minute, "readyz tells that all is well", func() bool {
		return s.ops(t, "/readyz").StatusCode == http.StatusOK
	})
	upload(t, c, 1)
	request = request.Clone(t.Context())
	send(t, &http.Client{Transport: s.transport(t)}, request).wantStatus(t, http.StatusOK)
}
