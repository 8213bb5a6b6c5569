package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// reuse is a shop whose orders have the same photo.
type reuse struct {
	*shop.Shop
	url string
}

func (r *reuse) order(t *testing.T, k *access.Key, mock order.MockOutcome) string {
	t.Helper()
	created, err := r.Service.CreateOrder(t.Context(), k.Actor(access.Origin{}), &order.Draft{
		CategoryCode: "bags", BrandCode: "prada", Mock: mock, MockGiven: mock != "",
		Photos: []order.DraftPhoto{{URL: r.url, IndexCode: "overall-picture"}},
	}, nil)
	must.NoError(t, err)
	return created.OrderID
}

func (r *reuse) cancel(t *testing.T, id string) {
	t.Helper()
	_, err := r.Service.CancelOrder(t.Context(), access.System, id, "withdrawn")
	must.NoError(t, err)
}

// submit answers the photo request of a Test order with the photo.
func (r *reuse) submit(t *testing.T, id string) {
	t.Helper()
	o, err := r.Store.Order(t.Context(), id)
	must.NoError(t, err)
	sub := new(order.Submission)
	for i := range o.Requested {
		e := order.SubmissionEntry{IndexCode: o.Requested[i].IndexCode, Unable: i > 0}
		if i == 0 {
			e.URL = &r.url
		}
		sub.Entries = append(sub.Entries, e)
	}
	_, err = r.Service.SubmitPhotos(t.Context(), r.Test.Actor(access.Origin{}), id, sub)
	must.NoError(t, err)
}

// TestEraseOldPhotos_Reused: a photo that several orders have stays until the last of them is old enough, whichever was
// created first or ended first, and is then erased. It is kept for a day; each step takes 20 hours.
func TestEraseOldPhotos_Reused(t *testing.T) {
	const age, step = 24 * time.Hour, 20 * time.Hour
	for name, test := range map[string]struct {
		key   func(*shop.Shop) *access.Key
		steps []func(t *testing.T, r *reuse)
	}{
		"Test": {
			key: func(s *shop.Shop) *access.Key { return s.Test },
			steps: []func(*testing.T, *reuse){
				func(t *testing.T, r *reuse) { r.order(t, r.Test, order.MockFake) },
				func(t *testing.T, r *reuse) { r.order(t, r.Test, order.MockFake) },
				func(t *testing.T, r *reuse) {
					r.order(t, r.Test, order.MockAuthentic)
					r.Clock.Advance(store.ReuseNoted - time.Second) // of this one nothing is noted
					r.order(t, r.Test, order.MockAuthentic)
				},
			},
		},
		"Live": {
			key: func(s *shop.Shop) *access.Key { return s.Live },
			steps: []func(*testing.T, *reuse){
				func(t *testing.T, r *reuse) { r.cancel(t, r.order(t, r.Live, "")) },
				func(t *testing.T, r *reuse) { r.cancel(t, r.order(t, r.Live, "")) },
				func(t *testing.T, r *reuse) { r.cancel(t, r.order(t, r.Live, "")) },
			},
		},
		"LiveThatEndedLater": {
			key: func(s *shop.Shop) *access.Key { return s.Live },
			steps: func() []func(*testing.T, *reuse) {
				var first, second, third string
				return []func(*testing.T, *reuse){
					func(t *testing.T, r *reuse) {
						first, second, third = r.order(t, r.Live, ""), r.order(t, r.Live, ""), r.order(t, r.Live, "")
						r.cancel(t, second)
					},
					func(t *testing.T, r *reuse) { r.cancel(t, third) },
					func(t *testing.T, r *reuse) { r.cancel(t, first) },
				}
			}(),
		},
		"PhotoUpdate": {
			key: func(s *shop.Shop) *access.Key { return s.Test },
			steps: func() []func(*testing.T, *reuse) {
				var asked string
				return []func(*testing.T, *reuse){
					func(t *testing.T, r *reuse) { r.order(t, r.Test, order.MockFake) },
					func(t *testing.T, r *reuse) {
						other := &reuse{r.Shop, r.Photo(t, r.Test)}
						asked = other.order(t, r.Test, order.MockUpdatePhotos)
						r.submit(t, asked)
					},
				}
			}(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.EachTarget(t, func(t *testing.T, target string) {
				s := shop.New(t, target)
				r := &reuse{s, s.Photo(t, test.key(s))}
				erase := func() {
					t.Helper()
					_, err := s.Service.EraseOldPhotos(t.Context(), s.Clock.Now().Add(-age), 2)
					must.NoError(t, err)
				}
				for i, act := range test.steps {
					act(t, r)
					s.Clock.Advance(step)
					erase()
					if !r.there(t) {
						t.Fatalf("the photo is erased after step %d", i+1)
					}
				}
				s.Clock.Advance(age - step)
				erase()
				if !r.there(t) {
					t.Error("the photo is erased when its youngest order is as old as it is kept")
				}
				s.Clock.Advance(store.ReuseNoted + time.Second)
				for range 3 {
					erase()
				}
				if r.there(t) {
					t.Error("the photo is never erased")
				}
				holds(t, s, "after the retention")
			})
		})
	}
}

// TestEraseOldPhotos_SentTwice: a photo that a Test order has in two rounds has the age of the order, not of the round.
func TestEraseOldPhotos_SentTwice(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		r := &reuse{s, s.Photo(t, s.Test)}
		asked := r.order(t, s.Test, order.MockUpdatePhotos)
		s.Clock.Advance(time.Hour)
		r.submit(t, asked)
		s.Clock.Advance(store.ReuseNoted + time.Second)
		_, err := s.Service.EraseOldPhotos(t.Context(), s.Clock.Now().Add(-time.Hour), 2)
		must.NoError(t, err)
		if r.there(t) {
			t.Error("the photo is never erased")
		}
	})
}

// there reports whether the photo has its file.
func (r *reuse) there(t *testing.T) bool {
	t.Helper()
	name, ok := r.Service.PhotoName(r.url)
	if !ok {
		t.Fatalf("%s is no photo", r.url)
	}
	_, err := r.Media.Stat(t.Context(), name)
	if err != nil && !errors.Is(err, media.ErrNotFound) {
		t.Error(err)
	}
	return err == nil
}
