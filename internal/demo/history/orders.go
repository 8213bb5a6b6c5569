package history

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
)

// item is something that shops send.
type item struct{ category, brand, model string }

var items = []item{
	{"bags", "prada", ""},
	{"bags", "chanel", "chanel-classic-flap"},
	{"bags", "louis-vuitton", "louis-vuitton-speedy"},
	{"bags", "gucci", ""},
	{"bags", "hermes", "hermes-birkin"},
	{"sneakers", "nike", ""},
	{"sneakers", "jordan", "jordan-air-jordan-1-high"},
	{"sneakers", "adidas", ""},
	{"watches", "rolex", ""},
	{"watches", "omega", ""},
	{"wallets", "louis-vuitton", ""},
	{"shoes", "christian-louboutin", ""},
}

// lookalikes is how many different items of one category older orders are about: drawing takes time.
const lookalikes = 3

// job is an order and what becomes of it.
type job struct {
	shop    *shop
	item    item
	seed    uint64 // decides what the item looks like
	id      string
	indexes []string // of its photos
	rounds  int      // of photo requests still to come
	round   int      // of the latest photos
	flaw    flaw     // of its last photo
	staff   access.Staff
}

// plan puts the orders of the past on the agenda: more with every week, fewer at weekends, and a queue for now.
func (p *past) plan() error {
	for day := range days {
		from := Start(p.end).AddDate(0, 0, day)
		orders := 2 + day/20 + p.random.IntN(3)
		if weekday := from.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			orders /= 2
		}
		for range orders {
			p.order(from.Add(time.Duration(p.random.IntN(11*60)) * time.Minute))
		}
	}
	for day := range rehearsals {
		at := p.end.AddDate(0, 0, day-rehearsals).Truncate(24 * time.Hour)
		for range 1 + p.random.IntN(3) {
			p.rehearse(at.Add(time.Duration(9*60+p.random.IntN(8*60)) * time.Minute))
		}
	}
	// Those that are open now: some late, some nearly, most in time.
	for i, ago := range []int{
		1500, 1460, 1436, 1430, 1400, 1340, 1200, 900, 600, 420, 240, 150, 90, 60, 45, 30, 20, 12, 6, 3,
	} {
		p.open24(p.end.Add(-time.Duration(ago)*time.Minute), i)
	}
	p.at(p.end.Add(-2*time.Minute), p.topUp)
	for _, ago := range []int{52, 38, 24, 10} {
		p.at(p.end.AddDate(0, 0, -ago), p.topUp)
	}
	return nil
}

// rehearsals is for how many days somebody has been trying out the Test environment.
const rehearsals = 21

// rehearse is a Test order; a photo request is answered, but for the latest.
func (p *past) rehearse(at time.Time) {
	j := p.newJob()
	j.shop = p.sandbox
	j.seed %= lookalikes
	mock := order.MockOutcomes[p.random.IntN(len(order.MockOutcomes))]
	p.at(at, func() error {
		if err := p.create(j, &order.Draft{Mock: mock}); err != nil {
			return err
		}
		if mock == order.MockUpdatePhotos && p.end.Sub(at) > 48*time.Hour {
			p.at(p.now.Add(p.minutes(2, 90)), func() error { return p.answerSimulated(j) })
		}
		return nil
	})
}

// answerSimulated declares everything that was asked for as not available.
func (p *past) answerSimulated(j *job) error {
	actor := j.shop.owner.Actor(access.Test, portalOrigin)
	o, err := p.service.Order(p.context, actor, j.id)
	if err != nil {
		return err
	}
	submission := &order.Submission{Note: "Nothing better to be had."}
	for _, asked := range o.Requested {
		submission.Entries = append(submission.Entries, order.SubmissionEntry{IndexCode: asked.IndexCode, Unable: true})
	}
	_, err = p.service.SubmitPhotos(p.context, actor, j.id, submission)
	return err
}

// topUp is a purchase of credits by every shop that needs some.
func (p *past) topUp() error {
	for i, s := range p.shops {
		credits, err := p.service.Balance(p.context, s.key.Tenant)
		if err != nil {
			return err
		}
		if credits < 900 {
			note := fmt.Sprintf("Invoice %c-%d", 'D'-3*i, 1001+p.random.IntN(900))
			if _, err := p.service.GrantCredits(p.context, access.Operator, s.key.Tenant, 500, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *past) newJob() *job {
	j := &job{
		shop: p.shops[0], item: items[p.random.IntN(len(items))], seed: p.random.Uint64(),
		staff: p.staff[p.random.IntN(len(p.staff))],
	}
	if p.random.IntN(100) >= j.shop.share {
		j.shop = p.shops[1]
	}
	return j
}

// order is one that has ended by now.
func (p *past) order(at time.Time) {
	j := p.newJob()
	if p.random.IntN(5) == 0 {
		j.rounds, j.flaw = 1+p.random.IntN(2), p.anyFlaw()
	}
	if p.end.Sub(at) > 48*time.Hour {
		j.seed %= lookalikes
	}
	p.at(at, func() error {
		if err := p.create(j, &order.Draft{}); err != nil {
			return err
		}
		p.at(p.now.Add(p.minutes(10, 400)), func() error { return p.review(j) })
		return nil
	})
}

// open24 is an order that is still open: waiting, in review, or waiting for photos.
func (p *past) open24(at time.Time, i int) {
	j := p.newJob()
	if i%4 == 1 || i%5 == 0 {
		j.flaw = p.anyFlaw()
	}
	becomes := []order.Status{order.Processing, order.UpdatePhotos, order.Queued, order.Queued}[i%4]
	happens := p.at(at, func() error {
		if err := p.create(j, &order.Draft{AnswerTime: 1440}); err != nil || becomes == order.Queued {
			return err
		}
		p.leaveOpen(j, becomes)
		return nil
	})
	if happens {
		p.open[becomes]++
	}
}

// leaveOpen takes a queued order to where it is now: in review, or waiting for photos.
func (p *past) leaveOpen(j *job, becomes order.Status) {
	claimed := p.end.Add(-p.minutes(5, 90)) // lately: a claim without activity returns to the queue
	if !claimed.After(p.now) {
		claimed = p.now.Add(time.Minute)
	}
	p.at(claimed, func() error {
		_, err := p.service.ClaimOrder(p.context, j.staff.Actor(access.Origin{}), j.id)
		if err != nil || becomes == order.Processing {
			return err
		}
		return p.ask(j)
	})
}

func (p *past) minutes(least, most int) time.Duration {
	return time.Duration(least+p.random.IntN(most-least)) * time.Minute
}

// create uploads the photos and orders them; the draft has what is special.
func (p *past) create(j *job, draft *order.Draft) error {
	if err := p.chooseIndexes(j); err != nil {
		return err
	}
	draft.CategoryCode, draft.BrandCode, draft.ModelCode = j.item.category, j.item.brand, j.item.model
	reference := fmt.Sprintf("SKU-%05d", p.random.IntN(100_000))
	draft.ExternalID = &reference
	urls, err := p.photos(j, j.indexes, j.flaw)
	if err != nil {
		return err
	}
	for i, url := range urls {
		draft.Photos = append(draft.Photos, order.DraftPhoto{URL: url, IndexCode: j.indexes[i]})
	}
	created, err := p.service.CreateOrder(p.context, j.shop.key.Actor(access.Origin{}), draft, nil)
	if err != nil {
		return err
	}
	j.id = created.OrderID
	return nil
}

// chooseIndexes decides which photos the item gets: the same ones each time.
func (p *past) chooseIndexes(j *job) error {
	where := catalog.Context{Category: j.item.category, Brand: j.item.brand, Model: j.item.model}
	if err := p.service.Catalog().Check(where); err != nil {
		return err
	}
	for _, index := range p.service.Catalog().PhotoIndexes(where) {
		if index.Required || len(j.indexes) < 4 {
			j.indexes = append(j.indexes, index.Code)
		}
	}
	return nil
}

// photos returns URLs for the indexes, drawn when no order before has had the same. The last one has the flaw.
func (p *past) photos(j *job, indexes []string, f flaw) ([]string, error) {
	urls, keys := make([]string, len(indexes)), make([]string, len(indexes))
	flaws := make([]flaw, len(indexes))
	flaws[len(indexes)-1] = f
	var missing []int
	for i, index := range indexes {
		keys[i] = fmt.Sprint(j.shop.key.ID, j.item.category, j.seed, index, flaws[i], j.round)
		if urls[i] = p.pool[keys[i]]; urls[i] == "" {
			missing = append(missing, i)
		}
	}
	var uploads []media.Upload
	defer func() {
		for _, u := range uploads {
			_ = u.Staged.Close() // what was stored is no longer staged
		}
	}()
	drawn := make([][]byte, len(indexes))
	var pens sync.WaitGroup
	for _, i := range missing {
		pens.Go(func() { drawn[i] = drawPhoto(j.item.category, indexes[i], j.seed, flaws[i]) })
	}
	pens.Wait()
	for _, i := range missing {
		content := drawn[i]
		u, refusal, err := p.staging.Accept(p.context, bytes.NewReader(content), indexes[i]+".jpg", maxPhotoSize)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			return nil, refusal
		}
		uploads = append(uploads, u)
	}
	for part := range slices.Chunk(missing, service.MaxUploadFiles) {
		stored, err := p.service.StorePhotos(p.context, j.shop.key.Actor(access.Origin{}), uploads[:len(part)])
		if err != nil {
			return nil, err
		}
		for k, i := range part {
			urls[i], p.pool[keys[i]] = stored[k], stored[k]
		}
		for _, u := range uploads[:len(part)] {
			_ = u.Staged.Close()
		}
		uploads = uploads[len(part):]
	}
	return urls, nil
}
