package service

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// SendsMail reports whether there is a mail server.
func (s *Service) SendsMail() bool { return s.onMail != nil }

// MailCounts returns how many mails wait to be sent, and how many records of failed ones are kept.
func (s *Service) MailCounts(ctx context.Context) (queued, failed int64, err error) {
	return s.store.MailCounts(ctx)
}

// AfterMail wakes the sender unless the transaction that may have queued mail has failed with err, which it returns.
func (s *Service) AfterMail(err error) error {
	if err == nil {
		s.wakeMail()
	}
	return err
}

func (s *Service) wakeMail() {
	if s.onMail != nil {
		s.onMail()
	}
}

// mailContent is what a queued mail holds sealed: a letter and whom it goes to.
type mailContent struct {
	To     string        `json:"to"`
	Letter letter.Letter `json:"letter"`
}

// PostLetter queues a letter in the transaction of what it tells about; the caller calls AfterMail after it. link is
// the one inside the letter, or nil. Without a mail server nothing is queued.
func (s *Service) PostLetter(tx *store.Tx, accountID, to string, l letter.Letter, link *access.Link) error {
	m := &store.Mail{Kind: string(l.Kind), AccountID: accountID}
	if link != nil {
		m.LinkID = link.ID
	}
	return s.QueueMail(tx, m, mailContent{To: to, Letter: l})
}

// QueueMail queues a mail, or something that becomes one; its content is sealed. Without a mail server nothing is
// queued.
func (s *Service) QueueMail(tx *store.Tx, m *store.Mail, content any) error {
	if !s.SendsMail() {
		return nil
	}
	plain, err := json.Marshal(content)
	if err != nil {
		return err
	}
	m.ID, m.CreatedAt = uuid7.New(), s.now()
	m.Sealed = s.secrets.Seal(string(plain), keyring.MailContext(m.ID))
	return tx.InsertMail(m)
}

// openMailContent reads what QueueMail has sealed.
func (s *Service) openMailContent(m *store.Mail, content any) error {
	plain, err := s.secrets.Open(m.Sealed, keyring.MailContext(m.ID))
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(plain), content)
}

// notifyLowBalance queues a notice to every owner of an account that a charge took its balance below what they have
// set. It is in the transaction of the charge, and runs only when that has happened.
func (s *Service) notifyLowBalance(tx *store.Tx, accountID string, c store.Charge) error {
	return s.notifyOwners(tx, accountID, func(a *access.Account) letter.Letter {
		return letter.FewCredits(a.Locale, a.Name, c.Credits, c.LowCredits, s.publicURL+"/portal/live/credits")
	})
}

// notifyOwners queues a letter to every owner of an account.
func (s *Service) notifyOwners(tx *store.Tx, accountID string, write func(*access.Account) letter.Letter) error {
	ctx := tx.Context()
	account, err := tx.Account(ctx, accountID)
	if err != nil {
		return err
	}
	users, err := tx.Users(ctx, accountID)
	if err != nil {
		return err
	}
	l := write(account)
	for _, u := range users {
		if u.Role != access.Owner {
			continue
		}
		if err := s.PostLetter(tx, accountID, u.Email, l, nil); err != nil {
			return err
		}
	}
	return nil
}

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

// NextMail claims the mail that is due the longest, or returns nil when none is. Nobody else gets it for two minutes;
// until then, one of MailSent, MailPutOff and MailRefused tells what became of it. A request for a link is answered on
// the way.
func (s *Service) NextMail(ctx context.Context) (*OutgoingMail, error) {
	for {
		due, err := s.NextMailDue(ctx)
		if err != nil || due.IsZero() || due.After(s.now()) { // a look costs less than a claim
			return nil, err
		}
		now := s.now()
		var m *store.Mail
		err = s.store.Update(ctx, func(tx *store.Tx) (err error) {
			m, err = tx.ClaimMail(uuid7.New(), now, now.Add(mailClaim), now.Add(-letter.Life),
				now.Add(letter.Farthest))
			return err
		})
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		out, err := s.openMail(ctx, m)
		if err != nil || out != nil {
			return out, err
		}
	}
}

// NextMailDue returns when the first mail of the queue is due; the zero time when there is none.
func (s *Service) NextMailDue(ctx context.Context) (time.Time, error) {
	now := s.now()
	due, err := s.store.NextMailDue(ctx, now, now.Add(-letter.Life), now.Add(letter.Farthest))
	return due, store.IgnoreNotFound(err)
}

// openMail returns the mail that was claimed, or nil when there is nothing to send in it.
func (s *Service) openMail(ctx context.Context, m *store.Mail) (*OutgoingMail, error) {
	out := &OutgoingMail{ID: m.ID, AccountID: m.AccountID, Attempts: m.Attempts, CreatedAt: m.CreatedAt, row: m}
	if m.Kind == signin.ResetRequest {
		return nil, s.answerReset(ctx, out)
	}
	var content mailContent
	if err := s.openMailContent(m, &content); err != nil {
		return nil, s.unreadableMail(ctx, out, err)
	}
	out.To, out.Letter = content.To, content.Letter
	return out, nil
}

// unreadableMail puts off what cannot be opened: with the right keys again, it can. What says nothing when it is open
// never will.
func (s *Service) unreadableMail(ctx context.Context, m *OutgoingMail, cause error) error {
	s.log.ErrorContext(ctx, "a queued mail cannot be read", "mail_id", m.ID, "kind", m.row.Kind, "error", cause)
	if !errors.Is(cause, secret.ErrOpen) {
		return s.MailRefused(ctx, m, mailUnreadable)
	}
	_, err := s.MailPutOff(ctx, m, mailUnreadable)
	return err
}

// answerReset makes the link and its mail where somebody has the email; either way the request is done.
func (s *Service) answerReset(ctx context.Context, request *OutgoingMail) error {
	m := request.row
	var r signin.RequestedReset
	if err := s.openMailContent(m, &r); err != nil {
		return s.unreadableMail(ctx, request, err)
	}
	return s.finishMail(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteMail(m); err != nil {
			return err
		}
		return s.SignIn(r.Audience).AnswerReset(tx, r)
	})
}

// MailSent takes a mail that was handed to the mail server out of the queue. When a node dies between the two, the mail
// is sent again, under the same message id.
func (s *Service) MailSent(ctx context.Context, m *OutgoingMail) error {
	return s.finishMail(ctx, func(tx *store.Tx) error { return tx.DeleteMail(m.row) })
}

// MailPutOff puts a mail that could not be sent for now back into the queue, or gives it up when it was tried for a
// day; it tells which.
func (s *Service) MailPutOff(ctx context.Context, m *OutgoingMail, failure string) (again bool, err error) {
	next, again := letter.NextAttempt(m.Attempts, m.CreatedAt, s.now(), rand.Float64()) //nolint:gosec // no secret
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
	return store.IgnoreNotFound(s.store.Update(ctx, f))
}

// DeleteOldMail ends up to limit mails that are too old to be sent, so that no secret link stays where no mail server
// takes it, and deletes as many records of mails that failed before a time. It returns how many there were.
func (s *Service) DeleteOldMail(ctx context.Context, failedBy time.Time, limit int) (int, error) {
	var expired int64
	var deleted int
	err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		now := s.now()
		far := now.Add(letter.Farthest)
		if expired, err = tx.ExpireMails(mailExpired, now.Add(-letter.Life), now, far, limit); err != nil {
			return err
		}
		deleted, err = tx.DeleteAged(store.OldFailedMails, failedBy, limit)
		return err
	})
	return max(int(expired), deleted), err
}
