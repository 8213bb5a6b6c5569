package service

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
)

// mailClaim is how long a node has a mail to itself. It is longer than any attempt takes; after it, the mail of a node
// that died goes on elsewhere.
const mailClaim = 2 * time.Minute

// Failures of mails that no server has given.
const (
	mailExpired    = "expired"    // it could not be sent in time
	mailUnreadable = "unreadable" // it was sealed with another secret key
)

// OutgoingMail is a mail that the caller has to send now.
type OutgoingMail struct {
	letter.Letter
	ID        string
	To        string
	AccountID string
	Attempts  int // the current one included
	CreatedAt time.Time

	row *store.Mail
}

// NextMail claims the mail that is due the longest, or returns nil when none is. Nobody else gets it for two minutes; until
// then, one of MailSent, MailPutOff and MailRefused tells what became of it. A request for a link is answered on the
// way.
func (s *Service) NextMail(ctx context.Context) (*OutgoingMail, error) {
	for {
		due, err := s.NextMailDue(ctx)
		if err != nil || due.IsZero() || due.After(s.now()) { // a look costs less than a claim
			return nil, err
		}
		now := s.now()
		var m *store.Mail
		err = s.Store.Update(ctx, func(tx *store.Tx) (err error) {
			m, err = tx.ClaimMail(store.NewID(), now, now.Add(mailClaim), now.Add(-letter.Life))
			return err
		})
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		out, err := s.open(ctx, m)
		if err != nil || out != nil {
			return out, err
		}
	}
}

// NextMailDue returns when the first mail of the queue is due; the zero time when there is none.
func (s *Service) NextMailDue(ctx context.Context) (time.Time, error) {
	due, err := s.Store.NextMailDue(ctx, s.now().Add(-letter.Life))
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	return due, err
}

// open returns the mail that was claimed, or nil when there is nothing to send in it.
func (s *Service) open(ctx context.Context, m *store.Mail) (*OutgoingMail, error) {
	if m.Kind == signin.ResetRequest {
		return nil, s.answerReset(ctx, m)
	}
	out := &OutgoingMail{ID: m.ID, AccountID: m.AccountID, Attempts: m.Attempts, CreatedAt: m.CreatedAt, row: m}
	var content addressed
	if err := s.unseal(m, &content); err != nil {
		s.Log.ErrorContext(ctx, "a queued mail cannot be read", "mail_id", m.ID, "error", err)
		return nil, s.MailRefused(ctx, out, mailUnreadable)
	}
	out.To, out.Letter = content.To, content.Letter
	return out, nil
}

// answerReset makes the link and its mail where somebody has the email; either way the request is done.
func (s *Service) answerReset(ctx context.Context, m *store.Mail) error {
	var r signin.RequestedReset
	if err := s.unseal(m, &r); err != nil {
		s.Log.ErrorContext(ctx, "a request for a link cannot be read", "mail_id", m.ID, "error", err)
		return s.finishMail(ctx, func(tx *store.Tx) error { return tx.FailMail(m, mailUnreadable, s.now()) })
	}
	return s.finishMail(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteMail(m); err != nil {
			return err
		}
		return s.SignIn(r.Audience).AnswerReset(ctx, tx, r)
	})
}

// MailSent takes a mail that was handed to the mail server out of the queue. When a node dies between the two, the mail is
// sent again, under the same message id.
func (s *Service) MailSent(ctx context.Context, m *OutgoingMail) error {
	return s.finishMail(ctx, func(tx *store.Tx) error { return tx.DeleteMail(m.row) })
}

// MailPutOff puts a mail that could not be sent for now back into the queue, or gives it up when it was tried for a day; it
// tells which.
func (s *Service) MailPutOff(ctx context.Context, m *OutgoingMail, failure string) (again bool, err error) {
	next, again := letter.NextAttempt(m.Attempts, m.CreatedAt, s.now(), rand.Float64()) //nolint:gosec // no secret depends on it
	if !again {
		return false, s.MailRefused(ctx, m, failure)
	}
	return true, s.finishMail(ctx, func(tx *store.Tx) error { return tx.DelayMail(m.row, next) })
}

// MailRefused records that a mail cannot be delivered, by the code of the failure; what it said is forgotten.
func (s *Service) MailRefused(ctx context.Context, m *OutgoingMail, failure string) error {
	return s.finishMail(ctx, func(tx *store.Tx) error { return tx.FailMail(m.row, failure, s.now()) })
}

// finishMail writes down what became of a mail. Where the claim has ended there is nothing to write: the mail was taken
// back, or another node has it.
func (s *Service) finishMail(ctx context.Context, f func(*store.Tx) error) error {
	err := s.Store.Update(ctx, f)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// ForgetMail ends up to limit mails that are too old to be sent, so that no secret link stays where no mail server takes it,
// and deletes as many records of mails that failed before a time. It returns how many there were.
func (s *Service) ForgetMail(ctx context.Context, failedBy time.Time, limit int) (int, error) {
	var expired, forgotten int64
	err := s.Store.Update(ctx, func(tx *store.Tx) (err error) {
		now := s.now()
		if expired, err = tx.ExpireMails(mailExpired, now.Add(-letter.Life), now, limit); err != nil {
			return err
		}
		forgotten, err = tx.ForgetMails(failedBy, limit)
		return err
	})
	return int(max(expired, forgotten)), err
}
