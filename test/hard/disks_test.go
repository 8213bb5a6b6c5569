package hard_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/receiver"
)

// startOn starts an installation on a folder, whose server may be gone at times.
func startOn(t *testing.T, data string) (*site, *program.Process) {
	t.Helper()
	s := newSite(t, program.Settings{"data": data}, receiver.Start(t, "127.0.0.1"))
	s.nodes = []*node{newNode(callTimeout)}
	s.nodes[0].broken.Store(true)
	server := s.Start(t)
	s.nodes[0].moveTo(server.HTTP)
	s.open(t)
	return s, server
}

// moment is a disk as it was at a time, with what had been acknowledged by then.
type moment struct {
	disk  *volume
	books *books
}

// TestDisksPowerLoss copies the disk of a server under load, as it would be found after a loss of power: what was
// acknowledged before must be on every copy, and a server must start on each.
func TestDisksPowerLoss(t *testing.T) {
	random, seed := newRandom(t)
	disk := newVolume(t)
	s, server := startOn(t, filepath.Join(disk.dir, "data"))
	crowd := s.newCrowd(t, seed)
	crowd.mixed()
	s.awaitOrders(t, 12) // of which at least one is a Test order, with an event
	var moments []*moment
	began, unflushed := time.Now(), 0
	for range pick(2, 14) {
		s.awaitOrders(t, 1)
		time.Sleep(time.Duration(random.IntN(pick(300, 2000))) * time.Millisecond)
		told := s.books.clone()
		server.Signal(t, syscall.SIGSTOP)
		control := filepath.Join(disk.dir, fmt.Sprintf("control%d", len(moments)))
		must.NoError(t, os.WriteFile(control, []byte("not flushed"), 0o600))
		moments = append(moments, &moment{disk.copy(t), told})
		server.Signal(t, syscall.SIGCONT)
	}
	crowd.end()
	took := time.Since(began)
	p := s.prove(t)
	if code := server.Stop(t); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	orders, verdicts, photos := 0, 0, 0
	for i, at := range moments {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			if s.found(t, at, fmt.Sprintf("control%d", i)) {
				unflushed++
			}
		})
		orders, verdicts, photos = orders+at.books.acknowledged(), verdicts+at.books.verdicts, photos+len(at.books.photos)
	}
	if isHard() && disk.image != "" && unflushed == 0 { // a slow machine may flush it by itself before it is copied
		t.Error("no file that was not flushed was gone: these are no losses of power")
	}
	figure(t, "Disks, power lost", fmt.Sprintf("%d copies of the disk in %s of mixed load (%s, as a control file in %d "+
		"of them); %d orders, %d verdicts, %d photos held against them", len(moments), took.Round(time.Second), disk.kind(),
		unflushed, orders, verdicts, photos), fmt.Sprintf("%s; a server starts on each, `check --deep` ok", p))
}

// found starts a server on a copy, holds it against the books of that moment, and tells whether a file that was not
// flushed is gone.
func (s *site) found(t *testing.T, at *moment, control string) (lost bool) {
	t.Helper()
	if at.disk.image != "" {
		must.NoError(t, at.disk.mount())
		t.Cleanup(func() { at.disk.unmount(t) })
	}
	content, err := os.ReadFile(filepath.Join(at.disk.dir, control))
	lost = err != nil || string(content) != "not flushed"
	settings := maps.Clone(s.settings)
	settings["data"] = filepath.Join(at.disk.dir, "data")
	c := &site{
		Installation: program.New(t, settings), account: s.account, live: s.live, test: s.test, reviewers: s.reviewers,
		admin: s.admin, receiver: s.receiver, books: at.books, credits: s.credits,
		nodes: []*node{newNode(callTimeout)},
	}
	server := c.Start(t)
	c.nodes[0].moveTo(server.HTTP)
	c.prove(t)
	if code := server.Stop(t); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	return lost
}

// clone returns the books as they are now, for a copy of the installation, in which more may have happened than was
// told by then.
func (b *books) clone() *books {
	b.mu.Lock()
	defer b.mu.Unlock()
	const more = 1000
	c := newBooks()
	for id, e := range b.orders {
		told := *e
		told.submitted = slices.Clone(e.submitted)
		told.unsure += more
		c.orders[id] = &told
	}
	c.external, c.photos = maps.Clone(b.external), maps.Clone(b.photos)
	c.verdicts, c.imported, c.tried = b.verdicts, b.imported, b.tried+more
	return c
}

// awaitOrders waits until so many orders more were created.
func (s *site) awaitOrders(t *testing.T, more int) {
	t.Helper()
	enough := s.books.acknowledged() + more
	must.Eventually(t, 2*time.Minute, fmt.Sprintf("%d orders are created", more), func() bool {
		return s.books.acknowledged() >= enough
	})
}
