package signin

import (
	"context"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/store"
)

// EmailUnusable is the refusal of an email that is none, or, where there is no mail server, that another user has.
var EmailUnusable = fault.New(fault.Invalid, "email-unusable", "This email address cannot be used.")

// ChangeEmail begins to give an account user another email, after they have proved who they are: a link goes to the new
// mailbox, and nothing changes before it is opened. The answer is the same whoever has the address. Where there is no
// mail server nobody can be asked: then the email changes at once, and done is true.
func (g *SignIn) ChangeEmail(
	ctx context.Context, who *access.Person, p Proof, email string, from access.Origin,
) (done bool, err error) {
	address, err := access.NormalizeEmail(email)
	if err != nil {
		return false, EmailUnusable
	}
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return false, err
	}
	if !g.Host.SendsMail() {
		err = g.change(ctx, who, from.SessionID(), func(tx *store.Tx) error {
			return g.setEmail(tx, who, address, from)
		})
		if errors.Is(err, store.ErrExists) {
			err = EmailUnusable
		}
		return err == nil, err
	}
	if err := g.resets.beginMail(ctx, from, address, who.ID); err != nil { // a mailbox is not to be filled by others
		return false, err
	}
	err = g.Store.Update(ctx, func(tx *store.Tx) error {
		if err := Hold(tx, g.audience, who.ID, from.SessionID()); err != nil {
			return err
		}
		locale, err := g.localeOf(tx, who, from)
		if err != nil {
			return err
		}
		l := &access.Link{
			Kind: access.EmailChange, AccountID: who.AccountID, UserID: who.ID, Email: address, CreatedBy: who.ID,
		}
		link, err := g.MakeLink(tx, l)
		if err != nil {
			return err
		}
		mail := letter.ConfirmEmail(locale, who.Email, address, link, access.ResetLife)
		return errors.Join(g.Host.PostLetter(tx, who.AccountID, address, mail, l),
			g.record(tx, who, from, emailRequested, map[string]any{"email": address}))
	})
	return false, g.Host.AfterMail(err)
}

// ConfirmEmail gives the user of a link the email of the mailbox that it was sent to. All their sessions end. A link
// for an email that somebody has by now cannot be used.
func (g *SignIn) ConfirmEmail(ctx context.Context, token string, from access.Origin) error {
	err := g.Store.Update(ctx, func(tx *store.Tx) error {
		l, err := g.link(ctx, tx.Queries, access.EmailChange, token)
		if err != nil {
			return err
		}
		if err := store.NotFoundAs(tx.UseLink(l.ID, g.now()), LinkUnusable); err != nil {
			return err
		}
		who, err := tx.Person(ctx, g.audience, l.UserID)
		if err != nil {
			return store.NotFoundAs(err, LinkUnusable)
		}
		return errors.Join(g.setEmail(tx, who, l.Email, from), EndSessions(tx, g.audience, who.ID))
	})
	g.ForgetSessions()
	if errors.Is(err, store.ErrExists) {
		return LinkUnusable
	}
	return g.Host.AfterMail(err)
}

// setEmail changes the email. Both addresses are told; the event names the old one.
func (g *SignIn) setEmail(tx *store.Tx, who *access.Person, address string, from access.Origin) error {
	if err := tx.SetUserEmail(who.ID, address); err != nil {
		return err
	}
	l, err := g.localeOf(tx, who, from)
	if err != nil {
		return err
	}
	toOld, toNew := letter.ChangedEmail(l, who.Email, address, g.now(), g.Host.Address()+"/portal")
	return errors.Join(
		tx.DeleteResets(g.audience, who.ID), // they were sent to the old address
		g.Host.PostLetter(tx, who.AccountID, who.Email, toOld, nil),
		g.Host.PostLetter(tx, who.AccountID, address, toNew, nil),
		g.record(tx, who, from, emailChanged, nil),
	)
}
