package service

import (
	"context"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// book is the ledger and the orders of one account and environment under a check.
type book struct {
	*check
	accountID string
	balance   store.BalanceProof
}

func (b *book) problem(kind ProblemKind, id, format string, args ...any) {
	b.add(Problem{Kind: kind, AccountID: b.accountID, Environment: string(b.balance.Environment), ID: id, Message: fmt.Sprintf(format, args...)})
}

// ledger adds up the entries. Each is held against the one before it, so that one wrong entry shows once.
func (b *book) ledger(ctx context.Context, q store.Queries) error {
	var seq, count, sum, running int64
	err := q.EachEntry(ctx, b.accountID, b.balance.Environment, func(e *store.EntryProof) error {
		count++
		sum += e.Amount
		if e.Seq != seq+1 {
			b.problem(LedgerSequence, e.ID, "entry %d follows entry %d", e.Seq, seq)
		}
		if e.BalanceAfter != running+e.Amount {
			b.problem(LedgerRunning, e.ID, "entry %d of %+d after a balance of %d leaves %d", e.Seq, e.Amount, running, e.BalanceAfter)
		}
		seq, running = e.Seq, e.BalanceAfter
		b.entry(e)
		return nil
	})
	if err != nil {
		return err
	}
	if count != b.balance.Entries {
		b.problem(LedgerSequence, "", "the ledger has %d entries, the balance counts %d", count, b.balance.Entries)
	}
	if sum != b.balance.Credits {
		b.problem(LedgerBalance, "", "the entries sum up to %d, the balance is %d", sum, b.balance.Credits)
	}
	b.report.LedgerEntries += count
	return nil
}

// entry holds what an entry refers to against it.
func (b *book) entry(e *store.EntryProof) {
	if e.Kind != credit.Grant && !e.HasOrder {
		b.problem(LedgerOrder, e.ID, "the %s is for the order %q, which this account does not have", e.Kind, e.OrderID)
	}
	if e.Kind != credit.Refund {
		return
	}
	switch {
	case !e.ChargeAmount.Valid:
		b.problem(LedgerRefund, e.ID, "the refund gives back %q, which is no charge of its order", e.ChargeID)
	case e.ChargeAmount.Int64 != -e.Amount:
		b.problem(LedgerRefund, e.ID, "the refund is %+d, its charge was %+d", e.Amount, e.ChargeAmount.Int64)
	}
}

// orders holds that each order was charged once and refunded where that is due.
func (b *book) orders(ctx context.Context, q store.Queries) error {
	var count int64
	var last store.OrderProof
	err := q.EachOrder(ctx, b.accountID, b.balance.Environment, func(o *store.OrderProof) error {
		if o.ID == last.ID {
			b.repeated(&last, o)
			last = *o
			return nil
		}
		count++
		if o.Seq != last.Seq+1 {
			b.problem(OrderSequence, o.ID, "order %d follows order %d", o.Seq, last.Seq)
		}
		last = *o
		b.order(o)
		return nil
	})
	if err != nil {
		return err
	}
	if count != b.balance.Orders {
		b.problem(OrderSequence, "", "there are %d orders, the balance counts %d", count, b.balance.Orders)
	}
	b.report.Orders += count
	return nil
}

func (b *book) order(o *store.OrderProof) {
	switch {
	case o.ChargeID == "":
		b.problem(OrderCharge, o.ID, "the order was never charged")
	case o.ChargeAmount != -o.Price:
		b.problem(OrderCharge, o.ID, "the order costs %d, it was charged %d", o.Price, -o.ChargeAmount)
	}
	due := o.Status == order.Failed || o.Outcome == order.Canceled
	switch {
	case due && o.RefundID == "" && o.ChargeID != "":
		b.problem(OrderRefund, o.ID, "the order is canceled or failed and was not refunded")
	case !due && o.RefundID != "" && b.balance.Environment == access.Live: // its developer may have moved a Test order on
		b.problem(OrderRefund, o.ID, "the order is neither canceled nor failed and was refunded")
	}
}

// repeated tells what an order that comes again has twice.
func (b *book) repeated(first, again *store.OrderProof) {
	if first.ChargeID != again.ChargeID {
		b.problem(OrderCharge, again.ID, "the order was charged more than once")
		return
	}
	b.problem(OrderRefund, again.ID, "the order was refunded more than once")
}
