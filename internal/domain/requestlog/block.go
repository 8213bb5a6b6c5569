package requestlog

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
)

// MaxBlock is how many requests one block holds.
const MaxBlock = 4096

// Block is the requests of a tenant that are stored together, in the order in which they were answered. To store each
// by itself would cost more than to answer many of them.
type Block struct {
	access.Tenant
	First, Last uuid.UUID // the lowest and the highest id
	Requests    int

	words map[string]uint64 // what entries refer to by number
	names []byte            // the words in the order of their numbers
	body  []byte
}

// NewBlock returns an empty block.
func NewBlock(t access.Tenant) *Block { return &Block{Tenant: t, words: make(map[string]uint64, 16)} }

// Size is how many bytes the block needs.
func (b *Block) Size() int { return len(b.names) + len(b.body) }

// version is the first byte of a stored block.
const version = 1

// What an entry has besides what all have.
const (
	hasOrder = 1 << iota
	hasRef
	hasCode
	hasRefusal
)

// Add adds an entry of the block's tenant.
func (b *Block) Add(e *Entry) {
	if b.Requests == 0 || Less(e.ID, b.First) {
		b.First = e.ID
	}
	if b.Requests == 0 || Less(b.Last, e.ID) {
		b.Last = e.ID
	}
	b.Requests++
	var order uuid.UUID
	ref := e.Ref
	if e.OrderID != "" {
		var err error
		if order, err = uuid.Parse(e.OrderID); err != nil {
			ref = e.OrderID
		}
	}
	flags := when(order != uuid.Nil, hasOrder) | when(ref != "", hasRef) | when(e.Code != "", hasCode) |
		when(e.Refusal != "", hasRefusal)
	b.body = append(append(b.body, flags), e.ID[:]...)
	b.number(uint64(max(e.Status, 0)))
	b.number(uint64(max(e.Duration.Microseconds(), 0)))
	b.number(b.word(e.Method))
	b.number(b.word(e.Route))
	b.number(b.word(e.KeyID))
	if flags&hasOrder != 0 {
		b.body = append(b.body, order[:]...)
	}
	if flags&hasRef != 0 {
		b.body = appendText(b.body, ref)
	}
	if flags&hasCode != 0 {
		b.number(b.word(e.Code))
	}
	if flags&hasRefusal != 0 {
		b.body = appendText(b.body, e.Refusal)
	}
}

func when(has bool, flag byte) byte {
	if has {
		return flag
	}
	return 0
}

func (b *Block) number(n uint64) { b.body = binary.AppendUvarint(b.body, n) }

// word returns the number of a word that many entries have.
func (b *Block) word(s string) uint64 {
	n, ok := b.words[s]
	if !ok {
		n = uint64(len(b.words))
		b.words[s] = n
		b.names = appendText(b.names, s)
	}
	return n
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

// Text returns the block as it is stored.
func (b *Block) Text() string {
	all := binary.AppendUvarint([]byte{version}, uint64(len(b.words)))
	all = append(append(all, b.names...), b.body...)
	return base64.RawStdEncoding.EncodeToString(all)
}

var errBlock = errors.New("a block of the request log is broken")

// Read calls each for every entry of a stored block, until it returns false. The next entry overwrites the one before.
func Read(t access.Tenant, text string, each func(*Entry) bool) error {
	all, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("%w: %w", errBlock, err)
	}
	if len(all) == 0 || all[0] != version {
		return fmt.Errorf("%w: it has an unknown form", errBlock)
	}
	r := reader{rest: all[1:]}
	words := make([]string, min(r.number(), uint64(len(all))))
	for i := range words {
		words[i] = r.text()
	}
	word := func() string {
		if n := r.number(); n < uint64(len(words)) {
			return words[n]
		}
		r.broken = true
		return ""
	}
	var e Entry
	for len(r.rest) > 0 && !r.broken {
		e = Entry{Tenant: t}
		flags := r.bytes(1)[0]
		e.ID = uuid.UUID(r.bytes(16))
		e.Status = int(r.number() & 0xffff)
		e.Duration = time.Duration(r.number()&(1<<52-1)) * time.Microsecond
		e.Method, e.Route, e.KeyID = word(), word(), word()
		if flags&hasOrder != 0 {
			e.OrderID = uuid.UUID(r.bytes(16)).String()
		}
		if flags&hasRef != 0 {
			e.Ref = r.text()
		}
		if flags&hasCode != 0 {
			e.Code = word()
		}
		if flags&hasRefusal != 0 {
			e.Refusal = r.text()
		}
		if !r.broken && !each(&e) {
			return nil
		}
	}
	if r.broken {
		return errBlock
	}
	return nil
}

// reader reads a stored block. After something that cannot be it is broken and reads zeros.
type reader struct {
	rest   []byte
	broken bool
}

var zeros [16]byte

// bytes returns the next n bytes, of which there are at most 16.
func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.broken, r.rest = true, nil
		return zeros[:n]
	}
	next := r.rest[:n]
	r.rest = r.rest[n:]
	return next
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.broken, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.broken, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
