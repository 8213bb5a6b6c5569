package order

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// Summary is an order as lists show it. Lists of one account leave the names empty.
type Summary struct {
	Order
	AccountName  string
	AssigneeName string
}

// Sort is the sequence of a list of orders.
type Sort int

// The sequences of lists.
const (
	Newest        Sort = iota // of one account and environment, the newest first
	DueFirst                  // the earliest due first, those without a due date last
	RecentlyEnded             // ended orders only, the most recently ended first
)

// Filter chooses the orders of a list. An empty field chooses all.
type Filter struct {
	Sort         Sort
	Tenant       access.Tenant // of Newest; the other lists are of all accounts
	Environment  access.Environment
	Statuses     []Status
	Outcome      Outcome // of Newest
	AssigneeID   string
	BrandCode    string
	CategoryCode string
}

// States returns what the filter chooses as the index of an account's orders knows states: the outcome of a completed
// order, else the status. It is nil where all are chosen, and empty where none can be: only completed orders have an
// outcome.
func (f *Filter) States() []string {
	if len(f.Statuses) == 0 && f.Outcome == "" {
		return nil
	}
	states := []string{}
	for _, o := range Outcomes {
		if (f.Outcome == "" || f.Outcome == o) && f.chooses(Completed) {
			states = append(states, string(o))
		}
	}
	if f.Outcome != "" {
		return states
	}
	for _, s := range f.Statuses {
		if s != Completed {
			states = append(states, string(s))
		}
	}
	return states
}

func (f *Filter) chooses(s Status) bool {
	return len(f.Statuses) == 0 || slices.Contains(f.Statuses, s)
}

// Cursor is a position in a list of orders: right after an order that was seen there. It stays valid when orders are
// added, moved or gone, and what follows it is found as fast as the first order of the list.
type Cursor struct {
	At int64  // the key of the list: the sequence number, or when the order is due or ended, in microseconds
	ID string // empty in Newest
}

// String returns the cursor as addresses carry it.
func (c Cursor) String() string { return fmt.Sprintf("%d-%s", c.At, c.ID) }

// ParseCursor reads what String returns; nil for anything else.
func ParseCursor(s string) *Cursor {
	at, id, _ := strings.Cut(s, "-")
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || len(id) != 36 || strings.Trim(id, "0123456789abcdef-") != "" {
		return nil
	}
	return &Cursor{At: n, ID: id}
}

// QueueFilter chooses a part of the queue: the orders of a brand, of a category, or of both. Empty is the whole queue.
type QueueFilter struct {
	BrandCode    string
	CategoryCode string
}

// Search chooses orders of one account and environment, for programs. An empty field chooses all; all must match.
type Search struct {
	Tenant       access.Tenant
	Status       Status
	Outcome      Outcome
	ExternalID   string
	CreatedSince *time.Time
	UpdatedSince *time.Time
	ByUpdate     bool // those that changed last come last; otherwise the newest first
}

// States returns what is chosen as Filter.States does.
func (s *Search) States() []string {
	f := Filter{Outcome: s.Outcome}
	if s.Status != "" {
		f.Statuses = []Status{s.Status}
	}
	return f.States()
}
