// Package shop gives tests an installation that has done business: a database and a media folder with an account, keys,
// the demonstration catalog and orders of every kind, all made by the program's own use cases.
package shop

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// Where an installation says that its photos and its pages are.
const (
	MediaURL  = "https://media.assay.example/photos"
	PublicURL = "https://assay.example"
)

// Installation is a database and a media folder with the use cases over them.
type Installation struct {
	Target   string // of the database
	MediaDir string
	Store    *store.Store
	Media    *media.Disk
	Staging  *media.Staging
	Clock    *fakeclock.Clock
	Config   service.Config
	Service  *service.Service
}

// Shop is an installation with one account.
type Shop struct {
	*Installation
	Account *access.Account
	Test    *access.Key
	Live    *access.Key

	photos atomic.Int64 // made so far: no two are alike
}

// SecretKey is that of every installation of the tests.
const SecretKey = "a secret key that only tests may use"

// start is when every shop opens.
var start = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)

// Open opens an installation in a database and a media folder, new or not. Changes are made to the usual configuration.
func Open(t testing.TB, target, mediaDir string, changes ...func(*service.Config)) *Installation {
	t.Helper()
	i := &Installation{Target: target, MediaDir: mediaDir, Clock: fakeclock.New(start), Store: storetest.Open(t, target)}
	var err error
	i.Media, err = media.NewDisk(mediaDir)
	must.NoError(t, err)
	t.Cleanup(func() { must.NoError(t, i.Media.Close()) })
	i.Staging, err = media.NewStaging(i.Media.StagingDir())
	must.NoError(t, err)
	urls, err := photo.NewURLs(MediaURL)
	must.NoError(t, err)
	box, err := secret.New(SecretKey)
	must.NoError(t, err)
	box, err = keyring.OpenOrCreate(t.Context(), i.Store, box, start)
	must.NoError(t, err)
	i.Config = service.Config{
		Store: i.Store, Media: i.Media, Secrets: box, Guard: new(netguard.Guard), Now: i.Clock.Now, MediaURLs: urls,
		PublicURL: PublicURL, Log: slog.New(slog.DiscardHandler),
		Wait: func(context.Context, time.Duration) error { return nil },
	}
	i.Reconfigure(t, changes...)
	return i
}

// Reconfigure replaces the use cases by those of a changed configuration, as another start of the program does.
func (i *Installation) Reconfigure(t testing.TB, changes ...func(*service.Config)) {
	t.Helper()
	for _, change := range changes {
		change(&i.Config)
	}
	i.Service = service.New(i.Config)
	must.NoError(t, i.Service.RefreshCatalog(t.Context()))
}

// Proof is what a check of the installation looks at.
func (i *Installation) Proof() proof.Options {
	return proof.Options{
		Store: i.Store, Media: i.Media, CertificateKeys: i.Service.CertificateKeys(), Unreadable: i.Service.UnreadableSecrets,
	}
}

// WithMail queues mail that no sender takes: tests read it from the queue.
func WithMail(c *service.Config) { c.OnMail = func() {} }

// New opens a new installation in an empty database, with the catalog, an account, a key for each environment and
// 1,000 Live credits.
func New(t testing.TB, target string, changes ...func(*service.Config)) *Shop {
	t.Helper()
	s := &Shop{Installation: Open(t, target, filepath.Join(t.TempDir(), "media"), changes...)}
	_, err := s.Service.ImportCatalog(t.Context(), access.System, demo.Catalog)
	must.NoError(t, err)
	made, err := s.Service.CreateAccount(t.Context(), access.System, "Acme 鑑定", "owner@acme.example", text.English)
	must.NoError(t, err)
	s.Account = &made.Account
	key := func(env access.Environment) *access.Key {
		k, _, err := s.Service.CreateKey(t.Context(), access.System, service.NewKey{
			Tenant: access.Tenant{AccountID: s.Account.ID, Environment: env}, Name: "key <&> \"" + string(env) + "\"",
			Scopes: access.AllScopes,
		})
		must.NoError(t, err)
		return k
	}
	s.Test, s.Live = key(access.Test), key(access.Live)
	live := access.Tenant{AccountID: s.Account.ID, Environment: access.Live}
	_, err = s.Service.GrantCredits(t.Context(), access.System, live, 1000, "first purchase")
	must.NoError(t, err)
	return s
}

// Photo uploads a photo and returns its managed URL.
func (s *Shop) Photo(t testing.TB, k *access.Key) string {
	t.Helper()
	n := int(s.photos.Add(1))
	content := bytes.NewReader(pictures.GrayPNG(8+n%1000, 8+n/1000))
	upload, refusal, err := s.Staging.Accept(t.Context(), content, "写真.png", 1<<20)
	if err != nil || refusal != nil {
		t.Fatal(err, refusal)
	}
	defer func() { must.NoError(t, upload.Staged.Close()) }()
	urls, err := s.Service.StorePhotos(t.Context(), k.Actor(access.Origin{}), []media.Upload{upload})
	must.NoError(t, err)
	return urls[0]
}

// Order creates an order with one photo and returns its id; mock is empty with a Live key.
func (s *Shop) Order(t testing.TB, k *access.Key, mock order.MockOutcome) string {
	t.Helper()
	created, err := s.Service.CreateOrder(t.Context(), k.Actor(access.Origin{}), &order.Draft{
		CategoryCode: "bags", BrandCode: "prada", Mock: mock, MockGiven: mock != "",
		Photos: []order.DraftPhoto{{URL: s.Photo(t, k), IndexCode: "overall-picture"}},
	}, nil)
	must.NoError(t, err)
	return created.OrderID
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
	must.NoError(t, err)
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
	must.NoError(t, err)
}

// end makes a move that ends an order with a refund.
func (s *Shop) end(t testing.TB, id string, move func(*order.Order) error) {
	t.Helper()
	must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
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
		event := "completed"
		if o.Status == order.Failed {
			event = "failed"
		}
		if err := tx.AppendTimeline(o.ID, &order.TimelineEntry{
			At: s.Clock.Now(), Event: event, Details: map[string]any{"outcome": o.Outcome},
		}); err != nil {
			return err
		}
		return tx.RefundOrder(id, "called off", s.Clock.Now())
	}))
}
