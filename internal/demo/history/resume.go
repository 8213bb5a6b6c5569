package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
)

// How many orders are in review and waiting for photos in the end, and how old the oldest open order is.
const (
	inReview  = 5
	inWaiting = 5
	openSince = 26 * time.Hour
)

// resume finds out where an interrupted run has stopped: everything happens in the order of its time.
func (p *past) resume() (err error) {
	p.taken, err = p.store.LastMoved(p.context)
	if p.taken.After(p.now) {
		p.now = p.taken
	}
	return err
}

// account returns the owner of an account, which is made unless it is there.
func (p *past) account(name, owner string) (*access.User, error) {
	a, err := p.service.FindAccount(p.context, access.Operator, name)
	if fault.CodeOf(err) == fault.CodeNotFound {
		made, err := p.service.CreateAccount(p.context, access.Operator, name, owner, text.Japanese)
		if err != nil {
			return nil, err
		}
		return &made.Owner, nil
	}
	if err != nil {
		return nil, err
	}
	details, err := p.service.AccountDetails(p.context, access.Operator, a.ID)
	if err != nil {
		return nil, err
	}
	return details.Users[0], nil
}

// colleague returns a reviewer, who is made unless they are there.
func (p *past) colleague(email, name string) (*access.Staff, error) {
	found, err := p.service.FindStaff(p.context, email)
	if fault.CodeOf(err) != fault.CodeNotFound {
		return found, err
	}
	made, err := p.service.CreateStaff(p.context, access.Operator, email, name, access.Reviewer)
	if err != nil {
		return nil, err
	}
	return &made.Staff, nil
}

// key returns a Live key of the owner's account by the beginning of its name; it is made unless it is there.
func (p *past) key(owner *access.User, name string, scopes []access.Scope) (*access.Key, error) {
	actor := owner.Actor(access.Live, portalOrigin)
	keys, err := p.service.Keys(p.context, actor, owner.AccountID)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if strings.HasPrefix(k.Name, name) {
			return k, nil
		}
	}
	k, _, err := p.service.CreateKey(p.context, actor, service.NewKey{Tenant: actor.Tenant, Name: name, Scopes: scopes})
	return k, err
}

// takeUp goes on with the orders that an interrupted run has left open: the older ones come to their end, and of the
// latest as many are in review and waiting for photos as there should be.
func (p *past) takeUp() error {
	if p.taken.IsZero() {
		return nil
	}
	if err := p.topUp(); err != nil { // it may have been about to
		return err
	}
	var recent []*job
	for _, s := range append(slices.Clone(p.shops), p.sandbox) {
		f := order.Filter{Statuses: []order.Status{order.Queued, order.Processing, order.UpdatePhotos}}
		err := p.service.EachOrder(p.context, s.key.Actor(access.Origin{}), f, func(o *order.Summary) error {
			j, err := p.jobOf(s, &o.Order)
			switch {
			case err != nil:
				return err
			case s == p.sandbox:
				if o.Status == order.UpdatePhotos && p.end.Sub(o.CreatedAt) > 48*time.Hour {
					p.at(p.now.Add(p.minutes(2, 90)), func() error { return p.answerSimulated(j) })
				}
			case p.end.Sub(o.CreatedAt) > openSince:
				p.finish(j, &o.Order)
			case o.Status == order.Queued:
				recent = append(recent, j)
			default:
				p.open[o.Status]++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(recent, func(a, b *job) int { return cmp.Compare(a.id, b.id) })
	for _, j := range recent {
		switch {
		case p.open[order.UpdatePhotos] < inWaiting:
			p.open[order.UpdatePhotos]++
			p.leaveOpen(j, order.UpdatePhotos)
		case p.open[order.Processing] < inReview:
			p.open[order.Processing]++
			p.leaveOpen(j, order.Processing)
		}
	}
	return nil
}

// jobOf returns the job that an order is.
func (p *past) jobOf(s *shop, o *order.Order) (*job, error) {
	c := &o.Classification
	j := &job{
		shop: s, item: item{c.CategoryCode, c.BrandCode, c.ModelCode}, seed: p.random.Uint64() % lookalikes, id: o.ID,
		round: o.Round, staff: p.staff[p.random.IntN(len(p.staff))],
	}
	for _, who := range p.staff {
		if who.ID == o.AssigneeID {
			j.staff = who
		}
	}
	return j, p.chooseIndexes(j)
}

// finish lets an order come to its end from where it is.
func (p *past) finish(j *job, o *order.Order) {
	switch o.Status {
	case order.Queued:
		p.at(p.now.Add(p.minutes(10, 400)), func() error { return p.review(j) })
	case order.Processing:
		p.at(p.now.Add(p.minutes(4, 30)), func() error { return p.judge(j) })
	case order.UpdatePhotos:
		p.answer(j, o.Requested[0].IndexCode)
	case order.Completed, order.Failed:
	}
}
