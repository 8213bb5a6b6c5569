package signin

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// ResetRequest is the kind of a queued row that is no mail yet: somebody has asked for a link to choose a new password.
const ResetRequest = "reset-request"

// RequestedReset is what such a row says.
type RequestedReset struct {
	Audience access.Audience `json:"audience"`
	Email    string          `json:"email"`
	Locale   text.Locale     `json:"locale"`
}

// Refusals about links.
var (
	LinkUnusable = fault.New(fault.NotFound, fault.CodeNotFound,
		"This link does not exist, was used before or is too old.").With("entity", "link")
	EmailTaken = fault.New(fault.Conflict, "email-taken",
		"A user with this email exists already. Sign in, or ask to be invited with another email.")
	NoEmail = fault.InvalidField("email", "format", "must be an email address")
)

// RequestReset takes a request for a link to choose a new password. Whether a person has the email is not looked at
// here: the sender of mail does that later, so that neither the answer nor its time can tell. It returns NoEmail or
// TooManyLogins.
func (g *SignIn) RequestReset(ctx context.Context, email string, from access.Origin) error {
	address, err := access.NormalizeEmail(strings.TrimSpace(email))
	if err != nil {
		return NoEmail
	}
	if _, err := g.resets.begin(ctx, from, address, ""); err != nil {
		return err
	}
	r := RequestedReset{Audience: g.audience, Email: address, Locale: cmp.Or(from.Locale, text.English)}
	err = g.Store.Update(ctx, func(tx *store.Tx) error {
		return g.Host.QueueMail(tx, &store.Mail{Kind: ResetRequest}, r)
	})
	return g.Host.AfterMail(err)
}

// AnswerReset makes the link and its mail when a person has the email. Links that they were sent before still work:
// else anybody could spoil them by asking for another. All end when one is used.
func (g *SignIn) AnswerReset(tx *store.Tx, r RequestedReset) error {
	who, err := tx.PersonByEmail(tx.Context(), g.audience, r.Email)
	if errors.Is(err, store.ErrNotFound) || err == nil && !who.Active {
		return nil
	}
	if err != nil {
		return err
	}
	l := ResetLink(who, who.ID)
	address, err := g.MakeLink(tx, l)
	if err != nil {
		return err
	}
	mail := letter.RequestedReset(r.Locale, g.audience, who.Email, address, access.ResetLife)
	return errors.Join(g.Host.PostLetter(tx, who.AccountID, who.Email, mail, l),
		g.record(tx, who, access.Origin{}, resetRequested, nil))
}

// ResetLink returns a link with which a person chooses a new password, for MakeLink; by is the id of who makes it.
func ResetLink(who *access.Person, by string) *access.Link {
	return &access.Link{
		Kind: access.PasswordReset, AccountID: who.AccountID, UserID: who.ID, Email: who.Email, CreatedBy: by,
	}
}

// MakeLink stores a link and returns its address.
func (g *SignIn) MakeLink(tx *store.Tx, l *access.Link) (address string, err error) {
	path, life := "/join", access.InvitationLife
	switch l.Kind {
	case access.PasswordReset:
		path, life = "/reset", access.ResetLife
	case access.EmailChange:
		path, life = "/email", access.ResetLife
	case access.Invitation:
	}
	token := access.NewSessionToken()
	hash, _ := access.HashSessionToken(token)
	l.ID, l.Audience, l.CreatedAt = uuid7.New(), g.audience, g.now()
	l.ExpiresAt = l.CreatedAt.Add(life)
	return g.Host.Address() + "/" + string(g.audience) + path + "?token=" + token, tx.InsertLink(l, hash)
}

// Link returns the link behind a token, or LinkUnusable.
func (g *SignIn) Link(ctx context.Context, kind access.LinkKind, token string) (*access.Link, error) {
	return g.link(ctx, g.Store.Queries, kind, token)
}

func (g *SignIn) link(ctx context.Context, q store.Queries, kind access.LinkKind, token string) (*access.Link, error) {
	hash, ok := access.HashSessionToken(token)
	if !ok {
		return nil, LinkUnusable
	}
	l, err := q.LinkByHash(ctx, g.audience, kind, hash, g.now())
	return l, store.NotFoundAs(err, LinkUnusable)
}

// useLink spends a link for a chosen password: it hands the link and the hash of the password to f in one transaction.
func (g *SignIn) useLink(
	ctx context.Context, kind access.LinkKind, token, password string,
	f func(tx *store.Tx, l *access.Link, hash string) error,
) error {
	if err := CheckNewPassword("new_password", password); err != nil {
		return err
	}
	l, err := g.Link(ctx, kind, token) // before the work of a hash
	if err != nil {
		return err
	}
	if err := CheckNewPassword("new_password", password, l.Email, l.Name, l.Account); err != nil {
		return err
	}
	hash := access.HashPassword(password)
	err = g.Store.Update(ctx, func(tx *store.Tx) error {
		l, err := g.link(ctx, tx.Queries, kind, token)
		if err != nil {
			return err
		}
		if err := store.NotFoundAs(tx.UseLink(l.ID, g.now()), LinkUnusable); err != nil {
			return err
		}
		return f(tx, l, hash)
	})
	g.ForgetSessions()
	return g.Host.AfterMail(err)
}

// CountMailedLink counts a link that somebody has mailed to an address: an invitation, or one to choose a new password.
// It returns TooManyLogins when they have sent too many, or the address has got too many. What is handed over does not
// count.
func (g *SignIn) CountMailedLink(ctx context.Context, by access.Actor, address string) error {
	if !g.Host.SendsMail() {
		return nil
	}
	return g.invites.beginMail(ctx, by.Origin, address, by.ID)
}

// AcceptInvitation makes the user whom a link invites, with the password they have chosen, and returns their id. The
// link is spent.
func (g *SignIn) AcceptInvitation(
	ctx context.Context, token, password string, from access.Origin,
) (userID string, err error) {
	err = g.useLink(ctx, access.Invitation, token, password, func(tx *store.Tx, l *access.Link, hash string) (err error) {
		if g.audience == access.Desk {
			userID, err = g.joinStaff(tx, l, hash, from)
		} else {
			userID, err = g.joinAccount(tx, l, hash, from)
		}
		return err
	})
	if errors.Is(err, store.ErrExists) {
		return "", EmailTaken
	}
	return userID, err
}

// joinAccount makes an account user, or brings back one who has left the account.
func (g *SignIn) joinAccount(tx *store.Tx, l *access.Link, hash string, from access.Origin) (string, error) {
	role := access.Role(l.Role)
	former, err := tx.FormerUser(tx.Context(), l.AccountID, l.Email)
	if err == nil {
		former.Role = role
		return former.ID, errors.Join(
			RemoveFactors(tx, g.audience, former.ID), // what was added in the very moment of their removal
			tx.RestoreUser(former.ID, role, hash),
			g.record(tx, former.Person(), from, joined, map[string]any{"role": l.Role}),
		)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	u := &access.User{
		ID: uuid7.New(), AccountID: l.AccountID, Email: l.Email, Role: role, PasswordHash: hash, CreatedAt: g.now(),
	}
	if err := tx.InsertUser(u); err != nil {
		return "", err
	}
	return u.ID, g.record(tx, u.Person(), from, joined, map[string]any{"role": l.Role})
}

// joinStaff makes a staff user, who has no token for the desk API until one is made.
func (g *SignIn) joinStaff(tx *store.Tx, l *access.Link, hash string, from access.Origin) (string, error) {
	s := &access.Staff{
		ID: uuid7.New(), Email: l.Email, Name: l.Name, Role: access.StaffRole(l.Role),
		PasswordHash: hash, CreatedAt: g.now(),
	}
	if err := tx.InsertStaff(s, store.StaffToken{}); err != nil {
		return "", err
	}
	return s.ID, g.record(tx, s.Person(), from, joined, map[string]any{"role": l.Role})
}

// ResetPassword gives the person of a link the password they have chosen, and returns the person. The link is spent and
// all their sessions end; a second factor and passkeys stay.
func (g *SignIn) ResetPassword(
	ctx context.Context, token, password string, from access.Origin,
) (who *access.Person, err error) {
	err = g.useLink(ctx, access.PasswordReset, token, password, func(tx *store.Tx, l *access.Link, hash string) error {
		who, err = tx.Person(ctx, g.audience, l.UserID)
		if err == nil && !who.Active {
			return LinkUnusable
		}
		if err != nil {
			return store.NotFoundAs(err, LinkUnusable)
		}
		if g.audience == access.Desk {
			if err := tx.RevokeStaffToken(who.ID); err != nil {
				return err
			}
		}
		return errors.Join(
			g.setPassword(tx, who, hash, from), EndSessions(tx, g.audience, who.ID),
			tx.ForgetDevices(g.audience, who.ID), // one of them may be somebody else's
		)
	})
	return who, err
}
