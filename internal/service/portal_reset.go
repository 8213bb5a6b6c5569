package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// resetRequest is the kind of a queued row that is no mail yet: somebody has asked for a link to choose a new password.
const resetRequest = "reset-request"

type requestedReset struct {
	Email  string      `json:"email"`
	Locale text.Locale `json:"locale"`
}

// resetLimits bound how many links are asked for: nobody's mailbox is to be filled by others.
var resetLimits = loginLimits{pair: 5, origin: 30, user: 10}

// NoEmail is the refusal of what cannot be an email address.
var NoEmail = fault.Validation(fault.Problem{Field: "email", Code: "format", Message: "must be an email address"})

// RequestReset takes a request for a link to choose a new password. Whether a user has the email is not looked at here: the
// sender of mail does that later, so that neither the answer nor its time can tell. It returns NoEmail or TooManyLogins.
func (g *PortalSignIn) RequestReset(ctx context.Context, email string, from Origin) error {
	s := g.service
	address, err := access.NormalizeEmail(strings.TrimSpace(email))
	if err != nil {
		return NoEmail
	}
	if err := g.resets.Begin(from.IP, address); err != nil {
		return err
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		return s.enqueue(tx, &store.Mail{Kind: resetRequest}, requestedReset{Email: address, Locale: localeOr(from, text.English)})
	})
	if err == nil {
		s.mailed()
	}
	return err
}

// answerResetRequest makes the link and its mail when a user has the email; either way the request is done. Links that the
// user was sent before still work: else anybody could spoil them by asking for another. All end when one is used.
func (s *Service) answerResetRequest(ctx context.Context, m *store.Mail) error {
	var r requestedReset
	if err := s.unseal(m, &r); err != nil {
		s.Log.ErrorContext(ctx, "a request for a link cannot be read", "mail_id", m.ID, "error", err)
		return s.finishMail(ctx, func(tx *store.Tx) error { return tx.FailMail(m, mailUnreadable, s.now()) })
	}
	return s.finishMail(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteMail(m); err != nil {
			return err
		}
		user, err := tx.UserByEmail(ctx, r.Email)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		l := resetLinkOf(user, user.ID)
		address, err := s.insertLink(tx, l, ResetLife, resetPath)
		if err != nil {
			return err
		}
		return s.post(tx, user.AccountID, user.Email, letter.RequestedReset(r.Locale, user.Email, address, ResetLife), l)
	})
}

// ResetPasswordOf makes a link with which a user of the account chooses a new password, and sends it to them; without a mail
// server, the address is returned to be handed over. It is for owners.
func (s *Service) ResetPasswordOf(ctx context.Context, who *Member, userID string) (address string, err error) {
	if err := who.Require(access.Owner); err != nil {
		return "", err
	}
	user, err := s.Store.User(ctx, userID)
	if errors.Is(err, store.ErrNotFound) || err == nil && user.AccountID != who.AccountID {
		return "", UserNotFound
	}
	if err != nil {
		return "", err
	}
	address, err = s.resetLink(ctx, user, who.ID, who.Email)
	return s.unlessMailed(address), err
}

// ResetPasswordByOperator is ResetPasswordOf for an operator, by the user's email. Operators get the address even when it
// was mailed, too.
func (s *Service) ResetPasswordByOperator(ctx context.Context, email string) (user *access.User, address string, err error) {
	email, err = access.NormalizeEmail(email)
	if err != nil {
		return nil, "", err
	}
	user, err = s.Store.UserByEmail(ctx, email)
	if errors.Is(err, store.ErrNotFound) {
		return nil, "", UserNotFound
	}
	if err != nil {
		return nil, "", err
	}
	address, err = s.resetLink(ctx, user, "operator", "")
	return user, address, err
}

const resetPath = "/portal/reset"

func resetLinkOf(user *access.User, by string) *store.PortalLink {
	return &store.PortalLink{Kind: store.PasswordReset, AccountID: user.AccountID, UserID: user.ID, Email: user.Email, Role: user.Role, CreatedBy: by}
}

// resetLink makes a link for a user, in place of all they have, and its mail. by is the id of who makes it; name is what
// the user is told of them, empty for an operator.
func (s *Service) resetLink(ctx context.Context, user *access.User, by, name string) (address string, err error) {
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteResets(user.ID); err != nil {
			return err
		}
		l := resetLinkOf(user, by)
		if address, err = s.insertLink(tx, l, ResetLife, resetPath); err != nil {
			return err
		}
		account, err := tx.Account(ctx, user.AccountID)
		if err != nil {
			return err
		}
		if err := s.did(ctx, tx, audit.Action{Code: audit.UserPasswordReset, AccountID: user.AccountID, Target: onUser(user)}); err != nil {
			return err
		}
		return s.post(tx, user.AccountID, user.Email, letter.MadeReset(account.Locale, user.Email, name, address, ResetLife), l)
	})
	if err == nil {
		s.mailed()
	}
	return address, err
}

// unlessMailed is the address of a link that has to be handed over: none when it is on its way by mail.
func (s *Service) unlessMailed(address string) string {
	if s.SendsMail() {
		return ""
	}
	return address
}

// insertLink stores a link and returns its address.
func (s *Service) insertLink(tx *store.Tx, l *store.PortalLink, life time.Duration, path string) (string, error) {
	token := access.NewSessionToken()
	hash, _ := access.HashSessionToken(token)
	l.ID, l.CreatedAt = store.NewID(), s.now()
	l.ExpiresAt = l.CreatedAt.Add(life)
	return s.PublicURL + path + "?token=" + token, tx.InsertLink(l, hash)
}
