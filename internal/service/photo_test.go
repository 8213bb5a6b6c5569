package service_test

import (
	"bytes"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestStorageLimit checks that the photos of an account, of both environments, take no more than they may.
func TestStorageLimit(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		upload := func(k *access.Key) error {
			content := bytes.NewReader(pictures.GrayPNG(9, 9))
			staged, refusal, err := s.Staging.Accept(t.Context(), content, "photo.png", 1<<20)
			if err != nil || refusal != nil {
				t.Fatal(err, refusal)
			}
			defer func() { must.NoError(t, staged.Staged.Close()) }()
			_, err = s.Service.StorePhotos(t.Context(), k.Actor(access.Origin{}), []media.Upload{staged})
			return err
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
	})
}
