package service_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

// upload stages a photo and passes it on.
func upload(t *testing.T, s *shop.Shop, store func(media.Upload) error) error {
	t.Helper()
	content := bytes.NewReader(pictures.GrayPNG(9, 9))
	staged, refusal, err := s.Staging.Accept(t.Context(), content, "photo.png", 1<<20)
	if err != nil || refusal != nil {
		t.Fatal(err, refusal)
	}
	defer func() { must.NoError(t, staged.Staged.Close()) }()
	return store(staged)
}

// TestStorageLimit checks that the photos of an account, of both environments, take no more than they may.
func TestStorageLimit(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		upload := func(k *access.Key) error {
			return upload(t, s, func(u media.Upload) error {
				_, err := s.Service.StorePhotos(t.Context(), k.Actor(access.Origin{}), []media.Upload{u})
				return err
			})
		}
		must.NoError(t, upload(s.Test))
		stored, err := s.Store.StoredBytes(t.Context(), s.Account.ID)
		must.NoError(t, err)
		s.Reconfigure(t, func(c *service.Config) { c.Limits.StoredBytes = 2 * stored })
		must.NoError(t, upload(s.Live))
		for _, k := range []*access.Key{s.Test, s.Live} {
			if err := upload(k); fault.CodeOf(err) != "storage-limit-reached" {
				t.Errorf("a third photo: %v", err)
			}
		}
		if n := files(t, s); n != 2 {
			t.Errorf("%d files are left of two photos", n)
		}
	})
}

// TestAddCapturePhoto_AnswerLost loses the answer to a commit: the photo is there when the page sends it again, and its
// file with it.
func TestAddCapturePhoto_AnswerLost(t *testing.T) {
	proxy, through := tcpproxy.Before(t, pgtest.Database(t))
	s := shop.New(t, through)
	_, address, err := s.Service.CreateCaptureLink(t.Context(), s.Live.Actor(access.Origin{}), service.NewCaptureLink{
		CategoryCode: "bags", BrandCode: "prada",
	})
	must.NoError(t, err)
	_, token, _ := strings.Cut(address, "/capture/")
	const key, index = "a-photo-of-a-page", "overall-picture"
	open := func() *service.Capture {
		t.Helper()
		c, err := s.Service.OpenCapture(t.Context(), token)
		must.NoError(t, err)
		return c
	}
	add := func(c *service.Capture) error {
		return upload(t, s, func(u media.Upload) error {
			return s.Service.AddCapturePhoto(t.Context(), c, key, index, u)
		})
	}
	c := open()
	proxy.Lose("COMMIT")
	if err := add(c); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("a commit without an answer: %v", err)
	}
	c = open()
	have, err := s.Service.CheckCapturePhoto(c, key, index)
	if err != nil || !have {
		t.Fatalf("sent again: %t, %v", have, err)
	}
	file, err := s.Service.OpenPhoto(t.Context(), c.Photo(key).Name)
	must.NoError(t, err)
	must.NoError(t, file.Close())

	must.NoError(t, add(c)) // whose page has not heard of it yet
	if n := files(t, s); n != 1 {
		t.Errorf("%d files are left of one photo", n)
	}
}

// TestStorePhotos_DiskFull: an upload that the database has no room for leaves no file.
func TestStorePhotos_DiskFull(t *testing.T) {
	target := storetest.SQLite(t)
	s := shop.New(t, target)
	// SQLite says of a table without further row numbers what it says of a full disk.
	for _, text := range []string{
		"CREATE TABLE no_room (id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT)",
		"INSERT INTO no_room (id, v) VALUES (9223372036854775807, '')",
		"CREATE TRIGGER fill AFTER INSERT ON photos BEGIN INSERT INTO no_room (v) VALUES (''); END",
	} {
		rawsql.Exec(t, target, text)
	}
	err := upload(t, s, func(u media.Upload) error {
		_, err := s.Service.StorePhotos(t.Context(), s.Live.Actor(access.Origin{}), []media.Upload{u})
		return err
	})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "full") {
		t.Errorf("no room: %v", err)
	}
	if n := files(t, s); n != 0 {
		t.Errorf("%d files are left", n)
	}
}
