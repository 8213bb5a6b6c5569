// Package audit defines the audit log of an account and the log of administration: who did what, when and from
// where. Events are never deleted, and nothing of them is changed but that what they say of people can be erased; each
// has a keyed hash over its predecessor, so that tampering is detected.
package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// Code is the kind of an event.
type Code string

// The event codes of the integration API.
const (
	LoginSucceeded  Code = "auth.login.succeeded"
	LoginFailed     Code = "auth.login.failed"
	PasswordChanged Code = "auth.password.changed"
	EmailChanged    Code = "auth.email.changed"
	KeyCreated      Code = "api-key.created"
	KeyRenamed      Code = "api-key.renamed"
	KeyRevoked      Code = "api-key.revoked"
	WebhookCreated  Code = "webhook.created"
)

// Codes lists every event code.
var Codes = []Code{
	LoginSucceeded, LoginFailed, PasswordChanged, EmailChanged, KeyCreated, KeyRenamed, KeyRevoked, WebhookCreated,
}

// ActorType is the kind of an actor.
type ActorType string

// The actor types.
const (
	ByUser   ActorType = "user"
	ByAPIKey ActorType = "api-key"
	BySystem ActorType = "system"
)

// ActorTypes lists every actor type.
var ActorTypes = []ActorType{ByUser, ByAPIKey, BySystem}

// Source is the interface through which an action was performed.
type Source string

// The sources.
const (
	FromPortal      Source = "portal-web"
	FromMobile      Source = "mobile"
	FromIntegration Source = "integration-api"
	FromSystem      Source = "system"
)

// Sources lists every source.
var Sources = []Source{FromPortal, FromMobile, FromIntegration, FromSystem}

// TargetType is the kind of a target.
type TargetType string

// The target types.
const (
	TargetUser     TargetType = "user"
	TargetOrder    TargetType = "order"
	TargetAPIKey   TargetType = "api-key"
	TargetWebhook  TargetType = "webhook"
	TargetDelivery TargetType = "webhook-delivery"
)

// TargetTypes lists every target type.
var TargetTypes = []TargetType{TargetUser, TargetOrder, TargetAPIKey, TargetWebhook, TargetDelivery}

// Event is one entry of the log.
type Event struct {
	ID        string
	AccountID string
	Seq       int64  // dense within the account
	UserID    string // the account user concerned
	At        time.Time
	Code      Code
	Actor     Actor
	Target    Target
	Metadata  map[string]any // no secrets, no webhook URLs
	Hash      string         // over the predecessor's hash and this event
	Personal  Personal
}

// Filter chooses events of an account's log; zero values choose all.
type Filter struct {
	Log        Log
	From, To   *time.Time // From inclusive, To exclusive
	Code       Code
	ActorType  ActorType
	ActorID    string
	Source     Source
	TargetType TargetType
	TargetID   string
}

// Personal lets what an entry says of people be erased without breaking the chain: the hash of an entry is made over
// their seal, which is a hash with a salt of its own. While they are there the seal is computed. Once they are erased
// it is stored and the salt is gone, so that nobody can find them by trying, not even with the key.
type Personal struct {
	Salt string // empty: erased
	Seal string // empty: not erased
}

// NewPersonal returns a random salt.
func NewPersonal() Personal { return Personal{Salt: rand.Text()} }

// Actor is who performed an action, and from where.
type Actor struct {
	Type      ActorType
	ID        string // empty for the system
	Name      string
	Source    Source
	IP        string // empty when there was no network request
	UserAgent string
}

// By returns how an account's log records an actor. Staff and operators are not users of the account and appear as
// the system; where they were is not recorded in a customer's log.
func By(a access.Actor) Actor {
	switch a.Kind {
	case access.ByAPIKey:
		return Actor{
			Type: ByAPIKey, ID: a.ID, Name: a.Name, Source: FromIntegration, IP: a.Origin.IP, UserAgent: a.Origin.Agent(),
		}
	case access.ByUser:
		return Actor{Type: ByUser, ID: a.ID, Name: a.Name, Source: FromPortal, IP: a.Origin.IP, UserAgent: a.Origin.Agent()}
	case access.ByStaff, access.ByOperator, access.BySystem:
	}
	return Actor{Type: BySystem, Name: a.Name, Source: FromSystem}
}

// Target is what an action was performed on.
type Target struct {
	Type TargetType
	ID   string
}

// Chain seals entries of a log: each with the one before it, so that none can be changed, removed or added without the
// key, which is not kept with the log.
type Chain struct{ key []byte }

// NewChain returns the chain of a key.
func NewChain(key []byte) Chain { return Chain{key} }

// IsZero reports whether the chain has no key: what it seals, anybody can.
func (c Chain) IsZero() bool { return len(c.key) == 0 }

// EventHash returns the hash of e, chained to the previous event's hash ("" for the first). metadata is the stored
// JSON text, so that the hash does not depend on the JSON encoder.
func (c Chain) EventHash(previous string, e *Event, metadata string) string {
	return c.hash(
		previous, e.ID, e.AccountID, strconv.FormatInt(e.Seq, 10), e.UserID, strconv.FormatInt(e.At.UnixMicro(), 10),
		string(e.Code), string(e.Actor.Type), e.Actor.ID, string(e.Actor.Source), string(e.Target.Type), e.Target.ID,
		c.EventSeal(e, metadata),
	)
}

// EventSeal returns the seal of what an event says of people: names, addresses and metadata. An event whose seal is
// stored says nothing.
func (c Chain) EventSeal(e *Event, metadata string) string {
	return c.seal(e.Personal, e.ID, e.Actor.Name, e.Actor.IP, e.Actor.UserAgent, metadata)
}

// ActionSeal is EventSeal for the log of administration: the name of the target, and the details.
func (c Chain) ActionSeal(a *Action, details string) string {
	return c.seal(a.Personal, a.ID, a.Target.Name, details)
}

func (c Chain) seal(p Personal, id string, said ...string) string {
	says := func(s string) bool { return s != "" && s != Nothing }
	if p.Salt == "" && !slices.ContainsFunc(said, says) { // erased, and nothing was added to it since
		return p.Seal
	}
	return c.hash(append([]string{p.Salt, id}, said...)...)
}

// Nothing is the metadata of an event, or the details of an action, that has none.
const Nothing = "{}"

// ActionHash is EventHash for the log of administration.
func (c Chain) ActionHash(previous string, a *Action, details string) string {
	return c.hash(
		previous, a.ID, strconv.FormatInt(a.Seq, 10), strconv.FormatInt(a.At.UnixMicro(), 10), string(a.Code), a.StaffID,
		a.StaffName, a.AccountID, string(a.Target.Type), a.Target.ID, a.IP, a.UserAgent, c.ActionSeal(a, details),
	)
}

func (c Chain) hash(fields ...string) string {
	text, err := json.Marshal(fields)
	if err != nil { // strings always marshal
		panic(err)
	}
	mac := hmac.New(sha256.New, c.key)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}

// Head is the newest entry of a chain. Kept elsewhere it shows later that the log up to there is still the same.
type Head struct {
	Chain     string `json:"chain"`   // "account", or Administration
	AccountID string `json:"account"` // empty: the log of administration
	Number    int64  `json:"number"`  // of entries
	Hash      string `json:"head"`    // empty: there are none
	Seal      string `json:"-"`       // binds the others together where the head is stored; empty: it has none
}

// The chains of heads.
const (
	Administration = "administration"
	OfAnAccount    = "account"
	OfThePortal    = "portal"
	PortalTrimmed  = "portal-trimmed" // the last entry of a log of the portal that is not kept any more
)

// SealHead returns the head as it is stored: the hash with a seal. Whoever has no key cannot make one for an earlier
// entry, and so cannot cut off the end of a log.
func (c Chain) SealHead(h *Head) string { return h.Hash + "." + c.headSeal(h) }

// HoldsHead reports whether the head has the seal that was made for it.
func (c Chain) HoldsHead(h *Head) bool { return hmac.Equal([]byte(h.Seal), []byte(c.headSeal(h))) }

func (c Chain) headSeal(h *Head) string {
	return c.hash("head", h.Chain, h.AccountID, strconv.FormatInt(h.Number, 10), h.Hash)
}

// SetStored sets the hash and the seal to what SealHead has returned; what has no seal is a hash.
func (h *Head) SetStored(text string) { h.Hash, h.Seal, _ = strings.Cut(text, ".") }
