package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
)

// chain is a log while it is read from its first entry. After an entry with a wrong hash it continues with the stored
// hash, so that one change is reported once.
type chain struct {
	*check
	accountID           string // empty: the log of administration
	sequence, hash      ProblemKind
	seq, count          int64
	previous, entryName string
}

func (c *chain) problem(kind ProblemKind, id, format string, args ...any) {
	c.add(Problem{Kind: kind, AccountID: c.accountID, ID: id, Message: fmt.Sprintf(format, args...)})
}

// entry checks an entry whose hash should be what sealed returns for the one before it.
func (c *chain) entry(id string, seq int64, hash string, sealed func(previous string) string) {
	c.count++
	c.done(1)
	if seq != c.seq+1 {
		c.problem(c.sequence, id, "%s %d follows %s %d", c.entryName, seq, c.entryName, c.seq)
	}
	if sealed(c.previous) != hash {
		c.problem(c.hash, id, "%s %d, or the one before it, was changed: its hash does not hold", c.entryName, seq)
	}
	c.seq, c.previous = seq, hash
}

// end compares the log with what is known of its end.
func (c *chain) end(head *audit.Head, kind ProblemKind) {
	if c.count != head.Number {
		c.problem(c.sequence, "", "the log has %d entries, its counter says %d", c.count, head.Number)
	}
	switch {
	case c.previous != head.Hash:
		c.problem(kind, "", "the last entry is not the one that is known as the last")
	case c.Store.Chain().HoldsHead(head):
	case head.Seal == "":
		c.problem(kind, "", "that %s %d is the last one has no seal: the end of the log may be cut off", c.entryName,
			head.Number)
	default:
		c.problem(kind, "", "that %s %d is the last one was not written by this installation: the end of the log is cut off",
			c.entryName, head.Number)
	}
}

// auditLog computes the hash of every event of an account.
func (c *check) auditLog(ctx context.Context, q store.Queries, a *audit.Head) error {
	log := &chain{check: c, accountID: a.AccountID, sequence: AuditSequence, hash: AuditHash, entryName: "event"}
	seal := c.Store.Chain()
	err := q.EachEvent(ctx, audit.AuditLog, a.AccountID, func(e *audit.Event, metadata string) error {
		log.entry(e.ID, e.Seq, e.Hash, func(previous string) string { return seal.EventHash(previous, e, metadata) })
		return nil
	})
	log.end(a, AuditHead)
	c.report.AuditEvents += log.count
	return err
}

// portalLog computes the hash of every entry of an account's log of the portal that is kept. Those before were removed
// by the program, which has left an entry that says so.
func (c *check) portalLog(ctx context.Context, q store.Queries, accountID string) error {
	head, err := q.PortalHeadOf(ctx, accountID)
	if err != nil {
		return err
	}
	log := &chain{
		check: c, accountID: accountID, sequence: PortalSequence, hash: PortalHash, entryName: "entry",
		seq: head.Trimmed.Number, count: head.Trimmed.Number, previous: head.Trimmed.Hash,
	}
	seal, gone, trimmed := c.Store.Chain(), head.Trimmed.Number, int64(0)
	if err := q.EachEvent(ctx, audit.PortalLog, accountID, func(e *audit.Event, metadata string) error {
		log.entry(e.ID, e.Seq, e.Hash, func(previous string) string { return seal.EventHash(previous, e, metadata) })
		if e.Code != audit.LogTrimmed {
			return nil
		}
		var said struct{ Through int64 }
		switch err := json.Unmarshal([]byte(metadata), &said); {
		case e.Personal.Salt == "": // erased: what it said is not known
			trimmed = gone
		case err != nil: // changed: it says nothing any more
			trimmed = 0
		default:
			trimmed = said.Through
		}
		return nil
	}); err != nil {
		return err
	}
	switch {
	case trimmed != gone || gone == 0 && head.Trimmed.Hash != audit.PortalSeed:
		log.problem(PortalTrimmed, "", "the entries up to %d are gone, the log says that those up to %d were removed",
			gone, trimmed)
	case gone > 0 && !seal.HoldsHead(&head.Trimmed):
		log.problem(PortalTrimmed, "", "the entries up to %d are gone, which has no seal of this installation", gone)
	}
	if head.Number == 0 {
		head.Hash = audit.PortalSeed
	}
	log.end(&head.Head, PortalHead)
	c.report.PortalEvents += log.count - gone
	return nil
}

// staffLog computes the hash of every entry of the log of administration.
func (c *check) staffLog(ctx context.Context, q store.Queries) error {
	log := &chain{check: c, sequence: StaffSequence, hash: StaffHash, entryName: "entry"}
	seal := c.Store.Chain()
	c.done = progress.Begin(ctx, "log of administration", progress.Items, 0)
	if err := q.EachStaffAction(ctx, func(a *audit.Action, details string) error {
		log.entry(a.ID, a.Seq, a.Hash, func(previous string) string { return seal.ActionHash(previous, a, details) })
		return nil
	}); err != nil {
		return err
	}
	head, err := q.AdministrationHead(ctx)
	if errors.Is(err, store.ErrNotFound) {
		err = nil // an empty head, which is not that of a log with entries
	}
	log.end(&head, StaffHead)
	c.found.StaffActions = log.count
	return err
}

// keptHeads looks for the heads that were kept elsewhere: whoever has the key can make a new chain, but not one that
// leads through these.
func (c *check) keptHeads(ctx context.Context, q store.Queries) error {
	for _, h := range c.Heads {
		if h.Number == 0 {
			continue
		}
		if h.Chain == audit.OfThePortal {
			kept, err := q.PortalHeadOf(ctx, h.AccountID)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if err == nil && h.Number <= kept.Trimmed.Number { // too old to be kept
				continue
			}
		}
		hash, err := q.EntryHash(ctx, h)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if hash != h.Hash {
			log := &chain{check: c, accountID: h.AccountID}
			log.problem(AuditKept, h.Chain, "entry %d of %s is not the one that was kept: the log was replaced or cut",
				h.Number, logName(h.Chain))
		}
	}
	return nil
}

// logName is what the log of a head is called.
func logName(chain string) string {
	switch chain {
	case audit.OfAnAccount:
		return "the audit log"
	case audit.OfThePortal:
		return "the log of the portal"
	default:
		return "the log of administration"
	}
}
