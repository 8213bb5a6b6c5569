// Package credit defines the ledger of an account: an append-only list of entries, each with the balance after it.
package credit

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Kind is the kind of a ledger entry.
type Kind string

// The kinds of entries.
const (
	Grant  Kind = "grant"  // change of the balance by an operator or, in Test, a developer; may be negative
	Charge Kind = "charge" // price of an order, taken when the order is accepted
	Refund Kind = "refund" // reversal of one complete charge, at most once
)

// Entry is one entry of the ledger.
type Entry struct {
	ID string
	access.Tenant
	Seq          int64 // dense within the tenant
	Kind         Kind
	Amount       int64 // signed: charges are negative
	BalanceAfter int64
	OrderID      string // empty for grants
	OrderNumber  string // only where a list shows it
	ChargeID     string // of a refund: the charge that it reverses
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

// MaxCredits bounds single amounts, and balances after a grant, so that sums cannot overflow. Refunds may exceed it.
const MaxCredits = 1_000_000_000_000

// CodeNotEnough is the code of NotEnough.
const CodeNotEnough = "not-enough-credits"

// NotEnough is the error for an order that the account cannot pay for.
func NotEnough(price, available int64) *fault.Error {
	return fault.New(fault.PaymentRequired, CodeNotEnough, "The account has not enough credits for this order.").
		With("required_credits", price).With("available_credits", available)
}

// FellBelow reports whether a change of the balance crossed a threshold downwards. It needs no state to be true
// once per crossing: the balance has to reach the threshold again before it can fall below it again.
func FellBelow(before, after, threshold int64) bool { return before >= threshold && after < threshold }
