package hard_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// The form of SQLite's write-ahead log: a header, then frames of a header and a page each.
const (
	logHeader   = 32
	frameHeader = 24
	pageSize    = 4096
	frameSize   = frameHeader + pageSize

	logFull = 3 << 20 // before SQLite writes the log back into the database and begins it again
)

// tear is a way in which a log is found damaged. It returns the log, and from where on nothing of it counts.
type tear struct {
	name string
	make func(log []byte, frame int, random *rand.Rand) (torn []byte, from int)
}

func frameAt(frame int) int { return logHeader + frame*frameSize }

// cut ends the log at an offset into a frame.
func cut(offset int) func([]byte, int, *rand.Rand) ([]byte, int) {
	return func(log []byte, frame int, _ *rand.Rand) ([]byte, int) {
		return log[:frameAt(frame)+offset], frameAt(frame)
	}
}

// zero makes the log from an offset into a frame on all zeros, for a length or to its end.
func zero(offset, length int) func([]byte, int, *rand.Rand) ([]byte, int) {
	return func(log []byte, frame int, _ *rand.Rand) ([]byte, int) {
		from := frameAt(frame) + offset
		to := len(log)
		if length > 0 {
			to = min(from+length, to)
		}
		clear(log[from:to])
		return log, frameAt(frame)
	}
}

// flip changes one bit at an offset into a frame.
func flip(offset int) func([]byte, int, *rand.Rand) ([]byte, int) {
	return func(log []byte, frame int, random *rand.Rand) ([]byte, int) {
		log[frameAt(frame)+offset] ^= 1 << random.IntN(8)
		return log, frameAt(frame)
	}
}

var tears = []tear{
	{"cut between frames", cut(0)},
	{"cut in the header of a frame", cut(10)},
	{"cut behind the header of a frame", cut(frameHeader)},
	{"cut in a page", cut(frameHeader + 1000)},
	{"cut in the last byte of a page", cut(frameSize - 1)},
	{"zeros from a frame on", zero(0, 0)},
	{"zeros from the middle of a page on", zero(frameHeader+2048, 0)},
	{"a sector of a page is zeros", zero(frameHeader+512, 512)},
	{"a bit of the page number", flip(3)},
	{"a bit of the size after the commit", flip(7)},
	{"a bit of the salt", flip(9)},
	{"a bit of the checksum", flip(18)},
	{"a bit of a page", flip(frameHeader + 99)},
	{"garbage from a page on", func(log []byte, frame int, random *rand.Rand) ([]byte, int) {
		for i := frameAt(frame) + frameHeader; i < len(log); i++ {
			log[i] = byte(random.Uint32())
		}
		return log, frameAt(frame)
	}},
	{"cut in the header of the log", func(log []byte, _ int, _ *rand.Rand) ([]byte, int) { return log[:20], 0 }},
	{"a bit of the header of the log", func(log []byte, _ int, random *rand.Rand) ([]byte, int) {
		log[random.IntN(logHeader)] ^= 1 << random.IntN(8)
		return log, 0
	}},
	{"no log", func([]byte, int, *rand.Rand) ([]byte, int) { return nil, 0 }},
}

// told is an order that was acknowledged, and how long the log was then.
type told struct {
	id   string
	size int
}

// TestDisksTornLog damages the write-ahead log of a killed server at every kind of offset. The program starts on each,
// what was acknowledged before the damage is there, what lies behind it is gone from its end on, and `assay check` says
// ok.
func TestDisksTornLog(t *testing.T) {
	random, _ := newRandom(t)
	data := t.TempDir()
	s, server := startOn(t, data)
	logPath := filepath.Join(data, "assay.db-wal")
	orders := s.createLogged(t, logPath, pick(10, 60))
	server.Kill(t)
	log, err := os.ReadFile(logPath)
	must.NoError(t, err)
	if n := len(log); n < frameAt(2) || binary.BigEndian.Uint32(log[8:]) != pageSize || orders[len(orders)-1].size > n {
		t.Fatalf("the log has %d bytes and pages of %d", n, binary.BigEndian.Uint32(log[8:]))
	}
	frames := (len(log) - logHeader) / frameSize
	first := (orders[0].size - logHeader) / frameSize
	rounds := pick(1, 6)
	kept := 0
	for _, way := range tears {
		for range rounds {
			frame := first + random.IntN(frames-first)
			t.Run(fmt.Sprintf("%s/%d", way.name, frame), func(t *testing.T) {
				torn, from := way.make(append([]byte(nil), log...), frame, random)
				kept += s.foundTorn(t, data, torn, from, orders)
			})
		}
	}
	figure(t, "Disks, torn log", fmt.Sprintf("%d write-ahead logs of %d frames damaged in %d ways: cut, zeros, bits, "+
		"garbage, in headers, salts, checksums and pages; %d orders acknowledged", len(tears)*rounds, frames,
		len(tears), len(orders)),
		fmt.Sprintf("a server starts on each, %d orders that lay before the damage are there, none out of order, "+
			"`check --deep` ok", kept))
}

// createLogged creates orders one after the other and notes how long the log is after each.
func (s *site) createLogged(t *testing.T, logPath string, most int) (orders []told) {
	t.Helper()
	photo := s.upload(t.Context(), s.nodes[0], s.live)
	for i := range most {
		a := s.nodes[0].send(t.Context(), &request{
			method: http.MethodPost, path: apiPrefix + "/orders", token: s.live, body: jsonBody(map[string]any{
				"category_code": "bags", "brand_code": "prada", "answer_time": 60, "external_id": fmt.Sprintf("torn-%d", i),
				"photos": []any{map[string]any{"url": photo, "index_code": "overall-picture"}},
			}),
		})
		if !a.done() {
			t.Fatal(a)
		}
		info, err := os.Stat(logPath)
		must.NoError(t, err)
		if info.Size() > logFull {
			break
		}
		var order struct{ ID string }
		a.decode(t, &order)
		orders = append(orders, told{order.ID, int(info.Size())})
	}
	if len(orders) < 5 {
		t.Fatalf("the log is full after %d orders", len(orders))
	}
	return orders
}

// foundTorn starts a server on a copy with a damaged log, and returns how many orders had to be there.
func (s *site) foundTorn(t *testing.T, data string, torn []byte, from int, orders []told) (required int) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "data")
	must.NoError(t, command("cp", "-a", data, copied))
	logPath := filepath.Join(copied, "assay.db-wal")
	must.NoError(t, os.Remove(logPath))
	if torn != nil {
		must.NoError(t, os.WriteFile(logPath, torn, 0o600))
	}
	settings := program.Settings{}
	for name, value := range s.settings {
		settings[name] = value
	}
	settings["data"] = copied
	c := &site{Installation: program.New(t, settings), live: s.live, test: s.test, nodes: []*node{newNode(callTimeout)}}
	server := c.Start(t)
	c.nodes[0].moveTo(server.HTTP)
	all := c.list(t)
	server.Kill(t)
	for i, o := range orders {
		if o.size <= from {
			required++
		}
		switch there := all[o.id] != nil; {
		case o.size <= from && !there:
			t.Errorf("order %d was acknowledged when the log had %d bytes; it is damaged from %d on, and the order is gone", i,
				o.size, from)
		case there && i > 0 && all[orders[i-1].id] == nil:
			t.Errorf("order %d is there, order %d is not", i, i-1)
		}
	}
	if result := c.Run(t, "check", "--deep", "--json"); result.ExitCode != 0 {
		t.Errorf("assay check --deep: %s\n%s", result.Stdout, result.Stderr)
	}
	return required
}
