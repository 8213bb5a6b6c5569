package openid_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayhq/assay/internal/openid"
)

// silent is a network in which nobody answers.
type silent struct{ asked atomic.Int32 }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSilentProvider checks that those who wait for a provider that does not answer wait together, not one after the
// other, and that who gives up does not wait at all.
func TestSilentProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(silent)
		p := openid.New(openid.Config{Issuer: "https://login.example", Client: &http.Client{Transport: network}})
		began := time.Now()
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				if _, err := p.AuthURL(t.Context(), "s", "n", "v"); !errors.Is(err, openid.ErrAway) {
					t.Errorf("%v", err)
				}
			})
		}
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.AuthURL(gone, "s", "n", "v"); !errors.Is(err, openid.ErrAway) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		group.Wait()
		if n, took := network.asked.Load(), time.Since(began); n != 1 || took > 11*time.Second {
			t.Errorf("asked %d times, in %v", n, took)
		}
	})
}
