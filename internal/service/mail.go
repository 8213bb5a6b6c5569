package service

import (
	"context"
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/store"
)

// SendsMail reports whether there is a mail server.
func (s *Service) SendsMail() bool { return s.Mail != nil }

// WakeMail wakes the sender after a transaction that may have queued mail.
func (s *Service) WakeMail() {
	if s.Mail != nil {
		s.Mail()
	}
}

// afterMail wakes the sender unless the transaction that queued mail has failed with err, which it returns.
func (s *Service) afterMail(err error) error {
	if err == nil {
		s.WakeMail()
	}
	return err
}

// addressed is what a queued mail holds sealed: a letter and whom it goes to.
type addressed struct {
	To     string        `json:"to"`
	Letter letter.Letter `json:"letter"`
}

// PostLetter queues a letter in the transaction of what it tells about; the caller calls WakeMail after it. link is the
// one inside the letter, or nil. Without a mail server nothing is queued.
func (s *Service) PostLetter(tx *store.Tx, accountID, to string, l letter.Letter, link *access.Link) error {
	m := &store.Mail{Kind: string(l.Kind), AccountID: accountID}
	if link != nil {
		m.LinkID = link.ID
	}
	return s.QueueMail(tx, m, addressed{To: to, Letter: l})
}

// QueueMail queues a mail, or something that becomes one; its content is sealed. Without a mail server nothing is queued.
func (s *Service) QueueMail(tx *store.Tx, m *store.Mail, content any) error {
	if !s.SendsMail() {
		return nil
	}
	plain, err := json.Marshal(content)
	if err != nil {
		return err
	}
	m.ID, m.CreatedAt = store.NewID(), s.now()
	m.Sealed = s.Secrets.Seal(string(plain), mailContext(m))
	return tx.InsertMail(m)
}

// unseal reads what QueueMail has sealed.
func (s *Service) unseal(m *store.Mail, content any) error {
	plain, err := s.Secrets.Open(m.Sealed, mailContext(m))
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(plain), content)
}

func mailContext(m *store.Mail) string { return "mail " + m.ID }

// tellOwners queues a notice to every owner of an account that a charge took its balance below what they have set. It is in
// the transaction of the charge, and runs only when that has happened.
func (s *Service) tellOwners(tx *store.Tx, accountID string, c store.Charge) error {
	ctx := context.Background() // that of the transaction is used
	account, err := tx.Account(ctx, accountID)
	if err != nil {
		return err
	}
	users, err := tx.Users(ctx, accountID)
	if err != nil {
		return err
	}
	l := letter.FewCredits(account.Locale, account.Name, c.Credits, c.LowCredits, s.PublicURL+"/portal/live/credits")
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
