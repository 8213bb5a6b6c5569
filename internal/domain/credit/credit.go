// Package credit holds the account ledger: an append-only list of entries, each with the balance after it.
package credit

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Kind says what an entry is for.
type Kind string

// The kinds of entries.
const (
	Grant  Kind = "grant"  // an operator's or, in Test, a developer's change of the balance; may be negative
	Charge Kind = "charge" // the price of an order, taken when the order is accepted
	Refund Kind = "refund" // the whole of one charge, given back at most once
)

// Entry is one line of the ledger.
type Entry struct {
	ID           string
	AccountID    string
	Environment  access.Environment
	Seq          int64 // dense within account and environment
	Kind         Kind
	Amount       int64 // signed: charges are negative
	BalanceAfter int64
	OrderID      string // empty for grants
	OrderNumber  string // only where a list shows it
	ChargeID     string // of a refund: the charge that it gives back
	Note         string
	CreatedAt    time.Time
}

// AccountTotals are the counters of an account in an environment.
type AccountTotals struct {
	Credits    int64
	Orders     int64
	Entries    int64
	LowCredits int64 // below which the owners want to be told; 0: never
}

// MaxCredits bounds balances and single amounts so that sums cannot overflow.
const MaxCredits = 1_000_000_000_000

// NotEnough is the refusal of an order that the account cannot fund.
func NotEnough(price, available int64) *fault.Error {
	return fault.New(fault.PaymentRequired, "not-enough-credits", "The account has not enough credits for this order.").
		With("required_credits", price).With("available_credits", available)
}

// FellBelow reports whether a change of the balance has crossed a threshold downwards. Without any memory it is so once
// for each crossing: the balance has to be at the threshold again, or above it, before it can fall below it again.
func FellBelow(before, after, threshold int64) bool { return before >= threshold && after < threshold }
