package proof

import (
	"context"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// tenant is one account and environment in a check: its ledger and its orders.
type tenant struct {
	*check
	accountID string
	balance   store.BalanceProof
}

func (t *tenant) scope() access.Tenant {
	return access.Tenant{AccountID: t.accountID, Environment: t.balance.Environment}
}

func (t *tenant) problem(kind ProblemKind, id, format string, args ...any) {
	t.add(Problem{
		Kind: kind, AccountID: t.accountID, Environment: string(t.balance.Environment), ID: id,
		Message: fmt.Sprintf(format, args...),
	})
}

// ledger adds up the entries. Each is compared with the one before it, so that one wrong entry is reported once.
func (t *tenant) ledger(ctx context.Context, q store.Queries) error {
	var seq, count, sum, running int64
	err := q.EachEntry(ctx, t.scope(), func(e *store.EntryProof) error {
		count++
		t.done(1)
		sum += e.Amount
		if e.Seq != seq+1 {
			t.problem(LedgerSequence, e.ID, "entry %d follows entry %d", e.Seq, seq)
		}
		if e.BalanceAfter != running+e.Amount {
			t.problem(LedgerRunning, e.ID, "entry %d of %+d after a balance of %d leaves %d",
				e.Seq, e.Amount, running, e.BalanceAfter)
		}
		seq, running = e.Seq, e.BalanceAfter
		t.entry(e)
		return nil
	})
	if err != nil {
		return err
	}
	if count != t.balance.Entries {
		t.problem(LedgerSequence, "", "the ledger has %d entries, the balance counts %d", count, t.balance.Entries)
	}
	if sum != t.balance.Credits {
		t.problem(LedgerBalance, "", "the entries sum up to %d, the balance is %d", sum, t.balance.Credits)
	}
	t.report.LedgerEntries += count
	return nil
}

// entry checks what an entry refers to.
func (t *tenant) entry(e *store.EntryProof) {
	if e.Kind != credit.Grant && !e.HasOrder {
		t.problem(LedgerOrder, e.ID, "the %s is for the order %q, which this account does not have", e.Kind, e.OrderID)
	}
	if e.Kind == credit.Charge && e.ID != e.OrderID {
		t.problem(OrderCharge, e.OrderID, "the order was charged by %q, which is not its charge", e.ID)
	}
	if e.Kind != credit.Refund {
		return
	}
	switch {
	case !e.ChargeAmount.Valid:
		t.problem(LedgerRefund, e.ID, "the refund gives back %q, which is no charge of its order", e.ChargeID)
	case e.ChargeAmount.Int64 != -e.Amount:
		t.problem(LedgerRefund, e.ID, "the refund is %+d, its charge was %+d", e.Amount, e.ChargeAmount.Int64)
	}
}

// orders checks that each order was charged once, and refunded exactly where it has to be.
func (t *tenant) orders(ctx context.Context, q store.Queries) error {
	var count int64
	var last store.OrderProof
	err := q.EachOrder(ctx, t.scope(), func(o *store.OrderProof) error {
		if o.ID == last.ID {
			t.problem(OrderRefund, o.ID, "the order was refunded more than once")
			return nil
		}
		count++
		t.done(1)
		if o.Seq != last.Seq+1 {
			t.problem(OrderSequence, o.ID, "order %d follows order %d", o.Seq, last.Seq)
		}
		last = *o
		t.order(o)
		t.verdict(o)
		return nil
	})
	if err != nil {
		return err
	}
	if count != t.balance.Orders {
		t.problem(OrderSequence, "", "there are %d orders, the balance counts %d", count, t.balance.Orders)
	}
	t.report.Orders += count
	return nil
}

func (t *tenant) order(o *store.OrderProof) {
	switch {
	case o.ChargeID == "":
		t.problem(OrderCharge, o.ID, "the order was never charged")
	case o.ChargeAmount != -o.Price:
		t.problem(OrderCharge, o.ID, "the order costs %d, it was charged %d", o.Price, -o.ChargeAmount)
	}
	due := o.Status == order.Failed || o.Outcome == order.Canceled
	switch {
	case due && o.RefundID == "" && o.ChargeID != "":
		t.problem(OrderRefund, o.ID, "the order is canceled or failed and was not refunded")
	case !due && o.RefundID != "" && t.balance.Environment == access.Live: // a developer may have moved a Test order
		t.problem(OrderRefund, o.ID, "the order is neither canceled nor failed and was refunded")
	}
}
