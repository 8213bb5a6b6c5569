package e2e_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/s3test"
)

// movedTo is what assay move --json prints.
type movedTo struct {
	OK                                               bool
	Accounts, Orders, Rows, Photos, Copied, Resealed int
	Bytes                                            int64
}

// TestMove moves an installation from SQLite and disk to PostgreSQL and S3, with another secret key, and back.
func TestMove(t *testing.T) {
	server := s3test.Start(t)
	database, bucket := pgtest.Database(t), server.Bucket(t)
	s := start(t, program.Settings{"webhook-allow-private": "true"})
	a := s.open(t)
	c := s.client(t, a.Live)
	photo := newPhoto(300_000)
	results, err := c.UploadPhotos(t.Context(), client.File{Name: "bag.png", Content: bytes.NewReader(photo)})
	if err != nil || results[0].Err() != nil {
		t.Fatal(err, results)
	}
	address := results[0].URL
	upload(t, c, 2)
	order, err := c.CreateOrder(t.Context(), tote(address))
	if err != nil {
		t.Fatal(err)
	}
	registerWebhook(t, c, a.Live.ID)
	keyFile := filepath.Join(t.TempDir(), "new.key")
	if err := os.WriteFile(keyFile, []byte(secretKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	there := []string{
		"move", "--from-data", s.data, "--to-data", t.TempDir(), "--to-database", database, "--to-media", bucket,
		"--to-secret-key-file", keyFile,
	}
	if got := s.Installation().Run(t, there...); got.ExitCode != 1 ||
		!strings.Contains(got.Stderr, "another server is running") {
		t.Errorf("with the server running: %+v", got)
	}
	s.Stop(t)

	var moved movedTo
	s.CLI(t, &moved, there...)
	if !moved.OK || moved.Accounts != 1 || moved.Orders != 1 || moved.Photos != 3 || moved.Copied != 3 ||
		moved.Resealed < 5 || moved.Rows < 20 {
		t.Errorf("moved %+v", moved)
	}
	if got := s.Installation().Run(t, there...); got.ExitCode != 1 || !strings.Contains(got.Stderr, "not empty") {
		t.Errorf("into a filled place: %+v", got)
	}
	node := start(t, program.Settings{"database": database, "secret-key": secretKey, "media": bucket})
	c = node.client(t, a.Live)
	if got, err := c.GetOrder(t.Context(), order.ID); err != nil || got.ID != order.ID {
		t.Errorf("the order: %+v, %v", got, err)
	}
	if got := fetch(t, &http.Client{Transport: node.transport(t)}, address); !bytes.Equal(got, photo) {
		t.Error("the photo has other bytes")
	}
	if _, err := c.CreateOrder(t.Context(), tote(address)); err != nil {
		t.Error(err)
	}
	node.Stop(t)

	home := filepath.Join(t.TempDir(), "home")
	back := []string{
		"move", "--from-data", node.data, "--from-database", database, "--from-media", bucket, "--from-secret-key", secretKey,
		"--to-data", home,
	}
	got := s.Installation().Run(t, back...)
	if got.ExitCode != 0 || !strings.HasPrefix(got.Stdout, "moved 1 account, 2 orders, 3 photos") ||
		!strings.Contains(got.Stderr, "MB/s") {
		t.Errorf("back: %+v", got)
	}
	again := run(t, program.New(t, program.Settings{"data": home}), home)
	if proof := runCheck(t, again); proof.Orders != 2 {
		t.Errorf("the proof is %+v", proof)
	}
	var list []string
	for o, err := range again.client(t, a.Live).AllOrders(t.Context(), client.OrdersQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o.ID)
	}
	if len(list) != 2 || !slices.Contains(list, order.ID) {
		t.Errorf("orders %v", list)
	}
}

func TestMove_Refused(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Stop(t)
	for _, c := range []struct {
		words string
		args  []string
	}{
		{"no installation here", []string{"--from-data", t.TempDir(), "--to-data", t.TempDir()}},
		{"same database", []string{"--from-data", s.data, "--to-data", s.data}},
		{"--to-media must be s3://", []string{"--from-data", s.data, "--to-data", t.TempDir(), "--to-media", "/disk"}},
		{"--to-database must be postgres://", []string{"--from-data", s.data, "--to-database", "mysql://x"}},
		{"--to-secret-key must have", []string{"--from-data", s.data, "--to-data", t.TempDir(), "--to-secret-key", "short"}},
	} {
		got := s.Installation().Run(t, append([]string{"move"}, c.args...)...)
		if got.ExitCode != 1 || !strings.Contains(got.Stderr, c.words) || got.Stdout != "" {
			t.Errorf("%v: %+v, want %q", c.args, got, c.words)
		}
	}
}
