// Package history fills a demo with 60 days of past work: orders with photos, verdicts, photo requests, deliveries,
// credits. Everything is done by the program's own use cases at the time it is said to have happened, so that what a
// demo shows holds every check.
package history

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
)

const (
	days         = 60
	liveCredits  = 1000 // of the demo account in the end
	testCredits  = 100_000
	statsEvery   = 2 * time.Hour
	maxPhotoSize = 4 << 20
	auroraName   = "Aurora Resale"
)

// Demo is who has been there before: the account, its owner and keys, and staff.
type Demo struct {
	Account         access.Account
	Owner           access.User
	Live, Test      *access.Key
	Reviewer, Admin access.Staff
}

// past is the history in the making.
type past struct {
	context context.Context // of one run of Write
	tell    func(days int64)
	service *service.Service
	store   *store.Store
	staging *media.Staging
	now     time.Time // the clock of the use cases
	end     time.Time
	random  *rand.Rand
	demo    *Demo

	taken    time.Time // where an interrupted run has stopped; zero: none has begun
	shops    []*shop
	sandbox  *shop // the demo account's Test environment
	staff    []access.Staff
	agenda   []event // by time
	pool     map[string]string
	saved    time.Time
	outcomes int
	open     map[order.Status]int // orders that are to be open in the end, of those still to come
}

// event is something that happens at a time.
type event struct {
	at time.Time
	do func() error
}

// shop is an account with a key and a webhook endpoint.
type shop struct {
	owner    access.User
	key      *access.Key
	endpoint *webhook.Endpoint
	share    int // of all orders, in percent
	down     [2]time.Time
}

// Start is when the history begins: the demo's accounts and staff are made then.
func Start(now time.Time) time.Time {
	return now.AddDate(0, 0, -days).Truncate(24 * time.Hour).Add(9 * time.Hour)
}

// Write fills the installation with what happened from Start to now. It goes on where an interrupted run has stopped.
// The configuration is that of the installation; its clock, limits and callbacks are not used.
func Write(ctx context.Context, config service.Config, staging *media.Staging, now time.Time, demo *Demo) error {
	p := &past{
		context: progress.With(ctx, nil), store: config.Store, staging: staging, now: Start(now), end: now, demo: demo,
		random: rand.New(rand.NewPCG(2026, 11)), //nolint:gosec // which order is a fake is no secret
		pool:   make(map[string]string), open: make(map[order.Status]int),
		tell: progress.Begin(ctx, "days of past work", progress.Items, days),
	}
	config.Now = func() time.Time { return p.now }
	config.Limits = service.Limits{}
	config.TestEventDelay = 0
	config.OnDeliveries, config.OnPhotos, config.OnMail = nil, nil, nil
	config.Guard = &netguard.Guard{AllowPrivate: true, Resolver: nowhere{}}
	config.Log = slog.New(slog.DiscardHandler)
	p.service = service.New(config)
	if err := p.service.RefreshCatalog(ctx); err != nil {
		return err
	}
	for _, step := range []func() error{p.resume, p.begin, p.plan, p.takeUp, p.run, p.close} {
		if err := step(); err != nil {
			return fmt.Errorf("history of the demo at %s: %w", p.now.Format(time.RFC3339), err)
		}
	}
	return nil
}

// begin makes the second account, colleagues and endpoints, unless they are there.
func (p *past) begin() error {
	made, err := p.account(auroraName, "owner@aurora.example")
	if err != nil {
		return err
	}
	p.staff = []access.Staff{p.demo.Reviewer}
	for _, colleague := range []struct{ email, name string }{
		{"mika@demo.example", "Mika Sato"}, {"jonas@demo.example", "Jonas Weber"},
	} {
		n, err := p.colleague(colleague.email, colleague.name)
		if err != nil {
			return err
		}
		p.staff = append(p.staff, *n)
	}
	aurora := access.Tenant{AccountID: made.AccountID, Environment: access.Live}
	switch credits, err := p.service.Balance(p.context, aurora); {
	case err != nil:
		return err
	case credits == 0:
		if _, err := p.service.GrantCredits(p.context, access.Operator, aurora, 2500, "Invoice A-1001"); err != nil {
			return err
		}
	}
	key, err := p.key(made, "Checkout", access.AllScopes)
	if err != nil {
		return err
	}
	p.shops = []*shop{
		{owner: p.demo.Owner, key: p.demo.Live, share: 35, down: p.outage(9, 8)},
		{owner: *made, key: key, share: 65, down: p.outage(5, 4)},
	}
	p.sandbox = &shop{owner: p.demo.Owner, key: p.demo.Test, down: p.outage(3, 2)}
	for _, e := range []struct {
		shop          *shop
		name, address string
	}{
		{p.shops[0], "Production", "https://hooks.demo-shop.example/assay"},
		{p.shops[1], "Production", "https://api.aurora.example/webhooks/assay"},
		{p.sandbox, "Staging", "https://staging.demo-shop.example/assay"},
	} {
		if err := p.openEndpoint(e.shop, e.name, e.address); err != nil {
			return err
		}
	}
	return p.portalWork(p.shops[1])
}

// outage is from some days ago to some days ago.
func (p *past) outage(from, to int) [2]time.Time {
	return [2]time.Time{p.end.AddDate(0, 0, -from), p.end.AddDate(0, 0, -to)}
}

var portalOrigin = access.Origin{IP: "203.0.113.24", UserAgent: "Mozilla/5.0 (Macintosh)"}

func (p *past) openEndpoint(s *shop, name, address string) (err error) {
	there, err := p.service.EndpointsOfKey(p.context, access.Operator, s.key.ID)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		s.endpoint = there[0]
		return nil
	}
	u, problem := webhook.CheckURL("url", address)
	if problem != nil {
		return fmt.Errorf("%s: %s", address, problem.Message)
	}
	s.endpoint, _, err = p.service.CreateEndpoint(p.context, s.owner.Actor(s.key.Environment, portalOrigin), s.key.ID,
		service.NewEndpoint{Name: name, URL: u, Events: webhook.Events})
	return err
}

// portalWork is what an owner does in the portal: it fills the audit log.
func (p *past) portalWork(s *shop) error {
	owner := s.owner.Actor(access.Live, portalOrigin)
	spare, err := p.key(&s.owner, "Old plugin", []access.Scope{access.OrdersRead})
	if err != nil {
		return err
	}
	p.at(p.end.AddDate(0, 0, -30), func() error {
		return p.service.RenameKey(p.context, owner, spare.ID, "Old plugin (unused)")
	})
	p.at(p.end.AddDate(0, 0, -12), func() error {
		_, err := p.service.RevokeKey(p.context, owner, spare.ID)
		return err
	})
	p.at(p.end.AddDate(0, 0, -8), func() error {
		_, err := p.service.Invite(p.context, owner, "developer@aurora.example", access.Developer)
		if fault.CodeOf(err) != "" { // an interrupted run has come this far
			return nil
		}
		return err
	})
	p.at(s.down[1], func() error { // the endpoint is back: what failed is sent again
		_, err := p.service.RedeliverFailed(p.context, owner,
			webhook.DeliveryFilter{Tenant: owner.Tenant}, s.down[0])
		return err
	})
	return nil
}

// at puts something on the agenda and reports whether it will happen: what is later than now never does, and what an
// interrupted run has come past has happened.
func (p *past) at(when time.Time, do func() error) bool {
	if when.After(p.end) || !p.taken.IsZero() && !when.After(p.taken) {
		return false
	}
	i, _ := slices.BinarySearchFunc(p.agenda, when, func(e event, t time.Time) int {
		return cmp.Or(e.at.Compare(t), -1) // after those of the same time
	})
	p.agenda = slices.Insert(p.agenda, i, event{when, do})
	return true
}

// run lets everything happen in its order, with deliveries and statistics in between as the workers would.
func (p *past) run() error {
	told := 0
	for len(p.agenda) > 0 {
		next := p.agenda[0]
		p.agenda = p.agenda[1:]
		if next.at.After(p.now) {
			p.now = next.at
		}
		if day := int(p.now.Sub(Start(p.end)).Hours() / 24); day > told {
			p.tell(int64(day - told))
			told = day
		}
		if p.now.Sub(p.saved) >= statsEvery {
			p.saved = p.now
			if _, err := p.service.SaveStatistics(p.context); err != nil {
				return err
			}
		}
		if err := next.do(); err != nil {
			return err
		}
		if err := p.deliver(); err != nil {
			return err
		}
	}
	return nil
}

// close gives the demo account the credits that it is promised.
func (p *past) close() error {
	if p.now.Before(p.end) {
		p.now = p.end
	}
	for env, promised := range map[access.Environment]int64{access.Live: liveCredits, access.Test: testCredits} {
		tenant := access.Tenant{AccountID: p.demo.Account.ID, Environment: env}
		credits, err := p.service.Balance(p.context, tenant)
		if err != nil {
			return err
		}
		if missing := promised - credits; missing != 0 {
			if _, err := p.service.GrantCredits(p.context, access.Operator, tenant, missing, "demo credits"); err != nil {
				return err
			}
		}
	}
	_, err := p.service.SaveStatistics(p.context)
	return err
}
