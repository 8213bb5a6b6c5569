package proof_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// meddled is a media store where something happens before the first look at a file of a photo.
type meddled struct {
	media.Store
	stat, open func(name string)
}

func (m *meddled) Stat(ctx context.Context, name string) (media.Stat, error) {
	m.stat(name)
	return m.Store.Stat(ctx, name)
}

func (m *meddled) Open(ctx context.Context, name string) (media.File, error) {
	m.open(name)
	return m.Store.Open(ctx, name)
}

// TestErasedMeanwhile: a photo that is erased while a check runs is no problem, whichever part of it the check has seen
// before.
func TestErasedMeanwhile(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := newJudged(t, target)
		for name, id := range map[string]string{"Stat": s.authentic, "Open": s.fake} {
			t.Run(name, func(t *testing.T) {
				photos, err := s.Store.OrderPhotos(t.Context(), id)
				must.NoError(t, err)
				var once sync.Once
				erase := func(name string) {
					if name == photos[0].Name {
						once.Do(func() {
							_, err := s.Service.EraseOrder(context.WithoutCancel(t.Context()), access.Operator, id, false)
							if err != nil {
								t.Error(err)
							}
						})
					}
				}
				m := &meddled{s.Media, func(string) {}, func(string) {}}
				if name == "Stat" {
					m.stat = erase
				} else {
					m.open = erase
				}
				o := s.Proof()
				o.Deep, o.Media = true, m
				r, err := proof.Check(t.Context(), o)
				must.NoError(t, err)
				wantProblems(t, r)
				if stored, err := s.Store.Photo(t.Context(), photos[0].Name); err != nil || !stored.Erased {
					t.Errorf("the photo was not erased: %+v, %v", stored, err)
				}
			})
		}
		t.Run("FileLater", func(t *testing.T) {
			name := rawsql.Rows(t, target, "SELECT name FROM photos WHERE used = 1 AND erased_at IS NULL")[0][0]
			rawsql.Exec(t, target, "UPDATE photos SET erased_at = 1 WHERE name = '"+name+"'")
			wantProblems(t, check(t, s.Shop), proof.PhotoErased)
			var looks sync.Map
			m := &meddled{Store: s.Media, stat: func(looked string) {
				if _, again := looks.LoadOrStore(looked, true); again && looked == name {
					if err := os.Remove(filepath.Join(s.MediaDir, name[:1], name[1:2], name)); err != nil && !os.IsNotExist(err) {
						t.Error(err)
					}
				}
			}}
			o := s.Proof()
			o.Media = m
			r, err := proof.Check(t.Context(), o)
			must.NoError(t, err)
			wantProblems(t, r)
		})
	})
}
