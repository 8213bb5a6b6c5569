// Package shop gives tests an installation that has done business: a database and a media folder with an account, keys,
// the demonstration catalog and orders of every kind, all made by the program's own use cases.
package shop

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
)

// Shop is an installation with one account.
type Shop struct {
	Target   string // of the database
	MediaDir string
	Store    *store.Store
	Media    *media.Disk
	Staging  *media.Staging
	Clock    *fakeclock.Clock
	Service  *service.Service

	// What New makes.
	Account *access.Account
	Test    *access.Key
	Live    *access.Key

	photos atomic.Int64 // made so far: no two are alike
}

// start is when every shop opens.
var start = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)

// Open opens an installation in a database, new or not, and a media folder of its own.
func Open(t testing.TB, target, mediaDir string) *Shop {
	t.Helper()
	s := &Shop{Target: target, MediaDir: mediaDir, Clock: fakeclock.New(start)}
	var err error
	s.Store, err = store.Open(t.Context(), target)
	check(t, err)
	t.Cleanup(func() { check(t, s.Store.Close()) })
	s.Media, err = media.NewDisk(mediaDir)
	check(t, err)
	t.Cleanup(func() { check(t, s.Media.Close()) })
	s.Staging, err = media.NewStaging(s.Media.StagingDir())
	check(t, err)
	urls, err := photo.NewURLs("https://media.example/m")
	check(t, err)
	box, err := secret.New(secret.Generate())
	check(t, err)
	s.Service = service.New(service.Config{
		Store: s.Store, Media: s.Media, Secrets: box, Guard: new(netguard.Guard), Now: s.Clock.Now, MediaURLs: urls,
		PublicURL: "https://assay.example", Log: slog.New(slog.DiscardHandler),
	})
	check(t, s.Service.RefreshCatalog(t.Context()))
	return s
}

// New opens a fresh installation in an empty database, with the catalog, an account, a key for each environment and
// 1,000 Live credits.
func New(t testing.TB, target string) *Shop {
	t.Helper()
	s := Open(t, target, filepath.Join(t.TempDir(), "media"))
	_, err := s.Service.ImportCatalog(t.Context(), demo.Catalog)
	check(t, err)
	made, err := s.Service.CreateAccount(t.Context(), "Acme 鑑定", "owner@acme.example", text.English)
	check(t, err)
	s.Account = &made.Account
	key := func(env access.Environment) *access.Key {
		k, _, err := s.Service.CreateKey(t.Context(), service.NewKey{
			AccountID: s.Account.ID, Environment: env, Name: "key <&> \"" + string(env) + "\"", Scopes: access.AllScopes, Actor: audit.Operator,
		})
		check(t, err)
		return k
	}
	s.Test, s.Live = key(access.Test), key(access.Live)
	_, err = s.Service.GrantCredits(t.Context(), s.Account, access.Live, 1000, "first purchase")
	check(t, err)
	return s
}

// Photo uploads a photo and returns its managed URL.
func (s *Shop) Photo(t testing.TB, k *access.Key) string {
	t.Helper()
	var content bytes.Buffer
	n := int(s.photos.Add(1))
	check(t, png.Encode(&content, image.NewGray(image.Rect(0, 0, 8+n%1000, 8+n/1000))))
	upload, refusal, err := s.Staging.Accept(t.Context(), &content, "写真.png", 1<<20)
	check(t, err)
	if refusal != nil {
		t.Fatal(refusal)
	}
	defer func() { check(t, upload.Staged.Close()) }()
	urls, err := s.Service.StorePhotos(t.Context(), k.Actor(access.Origin{}), []media.Upload{upload})
	check(t, err)
	return urls[0]
}

// Order creates an order with one photo and returns its id; mock is empty with a Live key.
func (s *Shop) Order(t testing.TB, k *access.Key, mock order.MockOutcome) string {
	t.Helper()
	answer, err := s.Service.CreateOrder(t.Context(), k.Actor(access.Origin{}), &order.Draft{
		CategoryCode: "bags", BrandCode: "prada", Mock: mock, MockGiven: mock != "",
		Photos: []order.DraftPhoto{{URL: s.Photo(t, k), IndexCode: "overall-picture"}},
	}, nil)
	check(t, err)
	var receipt struct{ ID string }
	check(t, json.Unmarshal(answer, &receipt))
	return receipt.ID
}

// Trade creates an order of every kind and leaves a photo that no order uses: eight orders, of which two are refunded.
func (s *Shop) Trade(t testing.TB) {
	t.Helper()
	for _, mock := range order.MockOutcomes {
		s.Order(t, s.Test, mock)
		s.Clock.Advance(time.Second)
	}
	asked := s.Order(t, s.Test, order.MockUpdatePhotos)
	s.submit(t, asked)
	s.Order(t, s.Live, "")
	s.end(t, s.Order(t, s.Live, ""), func(o *order.Order) error {
		err := o.Apply(order.Cancel, s.Clock.Now())
		o.Outcome = order.Canceled
		return err
	})
	s.end(t, s.Order(t, s.Live, ""), func(o *order.Order) error {
		if err := o.Apply(order.Claim, s.Clock.Now()); err != nil {
			return err
		}
		return o.Apply(order.Fail, s.Clock.Now())
	})
	s.Photo(t, s.Test)
}

// submit answers the photo request of a Test order: a photo for one index, none for the others.
func (s *Shop) submit(t testing.TB, id string) {
	t.Helper()
	o, err := s.Store.Order(t.Context(), id)
	check(t, err)
	sub := &order.Submission{Note: "better light"}
	for i := range o.Requested {
		e := order.SubmissionEntry{IndexCode: o.Requested[i].IndexCode, Unable: i > 0}
		if i == 0 {
			url := s.Photo(t, s.Test)
			e.URL = &url
		}
		sub.Entries = append(sub.Entries, e)
	}
	_, err = s.Service.SubmitPhotos(t.Context(), s.Test.Actor(access.Origin{}), id, sub)
	check(t, err)
}

// end makes a move that ends an order with a refund.
func (s *Shop) end(t testing.TB, id string, move func(*order.Order) error) {
	t.Helper()
	check(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
		o, err := tx.OrderForUpdate(id)
		if err != nil {
			return err
		}
		if err := move(o); err != nil {
			return err
		}
		if err := tx.UpdateOrder(o); err != nil {
			return err
		}
		if err := tx.CountResult(o, -1); err != nil {
			return err
		}
		return tx.RefundOrder(id, "called off", s.Clock.Now())
	}))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
