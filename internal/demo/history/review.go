package history

import (
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
)

// review is what a reviewer does with a queued order.
func (p *past) review(j *job) error {
	actor := j.staff.Actor(access.Origin{})
	p.outcomes++
	if p.outcomes%29 == 0 {
		admin := p.demo.Admin.Actor(access.Origin{})
		_, err := p.service.CancelOrder(p.context, admin, j.id, "The seller took the item back.")
		return err
	}
	if _, err := p.service.ClaimOrder(p.context, actor, j.id); err != nil {
		return err
	}
	p.decide(j, p.minutes(4, 30))
	return nil
}

// decide asks for photos or gives the verdict, some time later.
func (p *past) decide(j *job, later time.Duration) {
	p.at(p.now.Add(later), func() error {
		if j.rounds > 0 {
			return p.ask(j)
		}
		return p.judge(j)
	})
}

// requests are what reviewers ask for when a photo has a flaw.
var requests = map[flaw]order.RequestDraft{
	sharp: {
		Condition: "cropped", Requirements: []string{"full-frame"}, Comment: "The edge is cut off. Please step back.",
	},
	blurred: {
		Condition: "unclear", Requirements: []string{"sharp-focus", "text-readable"},
		Comment: "Please come closer and hold the camera still.",
	},
	tooDark: {
		Condition: "too-dark", Requirements: []string{"natural-light", "no-flash"}, Comment: "Daylight at a window is best.",
	},
	wrongPart: {
		Condition: "wrong-part", Requirements: []string{"macro"}, Comment: "This photo shows the whole item.",
	},
}

func (p *past) anyFlaw() flaw { return []flaw{blurred, tooDark, wrongPart}[p.random.IntN(3)] }

// ask requests photos, which come some hours later.
func (p *past) ask(j *job) error {
	asked := requests[j.flaw]
	asked.IndexCode = j.indexes[len(j.indexes)-1]
	drafts := []order.RequestDraft{asked}
	j.flaw = sharp // the next round has another reason
	if _, err := p.service.RequestPhotos(p.context, j.staff.Actor(access.Origin{}), j.id, drafts); err != nil {
		return err
	}
	if j.rounds == 0 {
		return nil // it is still waited for
	}
	j.rounds--
	j.round++
	p.answer(j, asked.IndexCode)
	return nil
}

// answer sends the photo that was asked for, some hours later, and lets the review go on.
func (p *past) answer(j *job, index string) {
	p.at(p.now.Add(p.minutes(40, 600)), func() error {
		urls, err := p.photos(j, []string{index}, sharp)
		if err != nil {
			return err
		}
		_, err = p.service.SubmitPhotos(p.context, j.shop.key.Actor(access.Origin{}), j.id, &order.Submission{
			Entries: []order.SubmissionEntry{{IndexCode: index, URL: &urls[0]}}, Note: "Taken in daylight.",
		})
		if err != nil {
			return err
		}
		p.decide(j, p.minutes(5, 60))
		return nil
	})
}

// judge gives the verdict.
func (p *past) judge(j *job) error {
	actor := j.staff.Actor(access.Origin{})
	n := p.random.IntN(100)
	if n < 2 {
		_, err := p.service.FailOrder(p.context, actor, j.id, "The photos cannot be opened.")
		return err
	}
	v := &order.Verdict{Outcome: order.Authentic}
	switch {
	case n < 26:
		v.Outcome, v.IndexCodes = order.Fake, j.indexes[len(j.indexes)-1:]
	case n < 34:
		v.Outcome = order.UnableToVerify
	}
	var fitting []*catalog.Reason
	for _, r := range p.service.Catalog().Reasons(string(v.Outcome)) {
		if len(r.Categories) == 0 || slices.Contains(r.Categories, j.item.category) {
			fitting = append(fitting, r)
		}
	}
	first := p.random.IntN(len(fitting))
	for i := range min(2, len(fitting)) {
		v.ReasonCodes = append(v.ReasonCodes, fitting[(first+i)%len(fitting)].Code)
	}
	_, err := p.service.CompleteOrder(p.context, actor, j.id, v, "")
	return err
}
