package hard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/receiver"
)

// TestKills kills the server at random under mixed load. Everything that was acknowledged must be there afterwards,
// nothing twice, and every event must arrive, with the same bytes each time.
func TestKills(t *testing.T) {
	kills := pick(8, 200)
	engines(t, func(t *testing.T, engine string, settings program.Settings) {
		random, seed := newRandom(t)
		s := newSite(t, settings, receiver.Start(t, "127.0.0.1"))
		s.nodes = []*node{newNode(callTimeout)}
		s.nodes[0].broken.Store(true)
		server := s.Start(t)
		s.nodes[0].moveTo(server.HTTP)
		s.open(t)
		crowd := s.newCrowd(t, seed)
		crowd.mixed()
		crowd.imports(t, 2*time.Second)
		began := time.Now()
		for range kills {
			s.awaitOrders(t, 1)
			time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
			server.Kill(t)
			server = s.Start(t)
			s.nodes[0].moveTo(server.HTTP)
		}
		s.awaitOrders(t, 12) // of which at least one is a Test order, with an event
		crowd.end()
		took := time.Since(began)
		p := s.prove(t)
		if code := server.Stop(t); code != 0 {
			t.Errorf("the last server ended with exit code %d", code)
		}
		b := s.books
		figure(t, "Kills, "+engine,
			fmt.Sprintf("%d × `kill -9` in %s; %d orders, %d verdicts, %d rounds of photos, %d cancellations, %d photos, "+
				"%d imports acknowledged; %d creations repeated, %d of them had happened", kills, took.Round(time.Second),
				b.acknowledged(), b.verdicts, b.rounds, b.cancels, len(b.photos), b.imported, b.repeated, b.replayed),
			fmt.Sprintf("%s; %d events, %d sent again after they were acknowledged; `check --deep` ok; answers %s", p, p.events,
				s.receiver.Again(), &s.answers))
	})
}
