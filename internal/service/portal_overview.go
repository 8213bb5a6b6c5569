package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// What the overview looks at; all of it costs the same however much business an account does.
const (
	overviewDays   = 30
	overviewOrders = 8
	OverviewMost   = 1000 // counts end here
)

// Overview is how an account is doing in an environment.
type Overview struct {
	Book     store.Book
	Waiting  int // orders that wait for photos
	Recent   []order.Summary
	Days     []OverviewDay // the oldest first, today last
	Total    OverviewDay   // of all these days
	Webhooks *WebhookHealth
}

// OverviewDay is what happened on a day, in UTC.
type OverviewDay struct {
	Day        time.Time
	Orders     int64            // that were made
	Results    map[string]int64 // orders that ended, by outcome; those in error under "error"
	Turnaround Histogram        // of the verdicts, on the customer's clock
}

// Ended is how many orders ended on the day.
func (d *OverviewDay) Ended() int64 {
	var n int64
	for _, orders := range d.Results {
		n += orders
	}
	return n
}

// Overview returns how the member's account is doing.
func (s *Service) Overview(ctx context.Context, who *Member, env access.Environment) (*Overview, error) {
	o, tenant := new(Overview), access.Tenant{AccountID: who.AccountID, Environment: env}
	var err error
	if o.Book, err = s.Store.Book(ctx, who.AccountID, env); err != nil {
		return nil, err
	}
	if o.Waiting, err = s.Store.CountWaiting(ctx, tenant, OverviewMost); err != nil {
		return nil, err
	}
	if o.Recent, _, err = s.Store.Orders(ctx, &order.Filter{Tenant: tenant}, nil, overviewOrders); err != nil {
		return nil, err
	}
	if o.Days, err = s.ordersPerDay(ctx, who.AccountID, env, o.Book.Orders); err != nil {
		return nil, err
	}
	results, err := s.Store.Results(ctx, who.AccountID, env, o.Days[0].Day)
	if err != nil {
		return nil, err
	}
	o.addResults(results)
	o.Webhooks, err = s.webhookHealth(ctx, who, env)
	return o, err
}

// addResults adds how orders ended to the days, and sums the days up.
func (o *Overview) addResults(results []store.ResultCount) {
	first := o.Days[0].Day
	days := make([]*OverviewDay, 0, len(o.Days)+1)
	for i := range o.Days {
		days = append(days, &o.Days[i])
		o.Total.Orders += o.Days[i].Orders
	}
	for _, d := range append(days, &o.Total) {
		d.Results, d.Turnaround = make(map[string]int64), make(Histogram)
	}
	for _, r := range results {
		i := int(r.Day.Sub(first) / (24 * time.Hour))
		if i >= len(days) { // the clock of another node is ahead
			continue
		}
		for _, d := range []*OverviewDay{days[i], &o.Total} {
			d.Results[r.Result] += r.Orders
			if r.Took >= 0 {
				d.Turnaround[r.Took] += r.Orders
			}
		}
	}
}

// PortalLedger returns a page of the account's ledger, newest first, and how many entries there are.
func (s *Service) PortalLedger(ctx context.Context, who *Member, env access.Environment, page, limit int) ([]store.LedgerLine, store.Book, error) {
	book, err := s.Store.Book(ctx, who.AccountID, env)
	if err != nil {
		return nil, book, err
	}
	lines, err := s.Store.LedgerBelow(ctx, who.AccountID, env, book.Entries-int64(page-1)*int64(limit), limit)
	return lines, book, err
}

// PortalLedgerChanges returns up to limit grants and refunds of the account, newest first, older than the entry with the
// sequence number before, which is 0 for the newest of all.
func (s *Service) PortalLedgerChanges(ctx context.Context, who *Member, env access.Environment, before int64, limit int) ([]store.LedgerLine, error) {
	if before <= 0 {
		before = 1 << 62
	}
	return s.Store.LedgerWithoutCharges(ctx, who.AccountID, env, before, limit)
}

// EachLedgerLine calls f for every entry of the account's ledger, newest first, as of now.
func (s *Service) EachLedgerLine(ctx context.Context, who *Member, env access.Environment, f func(*store.LedgerLine) error) error {
	book, err := s.Store.Book(ctx, who.AccountID, env)
	if err != nil {
		return err
	}
	for seq := book.Entries; seq > 0; seq -= exportBatch {
		lines, err := s.Store.LedgerBelow(ctx, who.AccountID, env, seq, exportBatch)
		if err != nil {
			return err
		}
		for i := range lines {
			if err := f(&lines[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// PortalAudit returns up to limit events of the account that match and whose sequence number is not above seq, newest
// first; 0 is the newest. It also returns how many events the log has in all.
func (s *Service) PortalAudit(ctx context.Context, who *Member, f store.AuditFilter, seq int64, limit int) ([]*audit.Event, int64, error) {
	count, err := s.Store.AuditCount(ctx, who.AccountID)
	if err != nil {
		return nil, 0, err
	}
	if seq <= 0 || seq > count {
		seq = count
	}
	events, err := s.Store.AuditBelow(ctx, who.AccountID, f, seq, limit)
	return events, count, err
}

// EachAuditEvent calls f for every event of the account that matches, newest first, as of now.
func (s *Service) EachAuditEvent(ctx context.Context, who *Member, f store.AuditFilter, each func(*audit.Event) error) error {
	for seq := int64(0); ; {
		events, _, err := s.PortalAudit(ctx, who, f, seq, exportBatch)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := each(e); err != nil {
				return err
			}
		}
		if len(events) < exportBatch || events[len(events)-1].Seq <= 1 {
			return nil
		}
		seq = events[len(events)-1].Seq - 1
	}
}

// PortalAuditEvent returns an event of the account by its sequence number, or store.ErrNotFound.
func (s *Service) PortalAuditEvent(ctx context.Context, who *Member, seq int64) (*audit.Event, error) {
	return s.Store.AuditEventOf(ctx, who.AccountID, seq)
}
