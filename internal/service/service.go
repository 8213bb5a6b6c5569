// Package service holds the use cases: each checks its rules, then changes rows, ledger, audit log and outbox in one
// transaction. It knows no HTTP; what it returns to be shown is a domain type, what it refuses with is a fault.
package service

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/openid"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/service/retention"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/ttlcache"
)

// Config is what the use cases work with.
type Config struct {
	Store     *store.Store
	Media     media.Store
	Secrets   *secret.Box
	Guard     *netguard.Guard // checks the hosts of webhook endpoints
	Now       func() time.Time
	Wait      func(context.Context, time.Duration) error // nil: pause.For
	MediaURLs photo.URLs
	PublicURL string // where people open certificates; without a trailing slash
	Log       *slog.Logger
	Limits    Limits

	// TestEventDelay is how long the deliveries of a Test order wait before the first attempt: a simulated result is there
	// before the request that caused it is answered.
	TestEventDelay time.Duration

	// SecretOverlap is how long deliveries are signed with the previous secret as well after a rotation.
	SecretOverlap time.Duration

	// EventAge is how long events can be read; 0: as long as they are stored.
	EventAge time.Duration

	// ClaimAge is after which time without activity a claim expires; 0: nobody says.
	ClaimAge time.Duration

	// OnDeliveries is called after a transaction that has put deliveries into the outbox; nil is allowed.
	OnDeliveries func()

	// OnPhotos is called with the account and the photos of a Live order after they were accepted: somebody will look at
	// them. Nil is allowed.
	OnPhotos func(accountID string, names []string)

	// OpenID is where staff can sign in as well; without an issuer, nowhere.
	OpenID openid.Config

	// OnChange is called after a change that other nodes look for now and then. Nil is allowed.
	OnChange func(Change)

	// FlushRequests stores the API requests that this node has answered and keeps in memory: it is called before somebody
	// looks for one. Nil is allowed.
	FlushRequests func(context.Context) error

	// KeyLife is how long a key is known without a look at the database; 0: half a second.
	KeyLife time.Duration

	// SignInWindows counts attempts to sign in for all nodes; nil: they are counted in the database.
	SignInWindows signin.SharedWindows

	// OnMail is called after a transaction that has queued mail. Nil: there is no mail server, and nothing is queued.
	OnMail func()
}

// Change is something that nodes look for now and then, and that is announced so that they do so at once.
type Change string

// What is announced.
const (
	CatalogChange Change = "catalog" // a catalog was imported, or an answer time paused
	KeyChange     Change = "keys"    // an API key was changed or revoked
	DeskChange    Change = "desk"    // orders were moved at the pages of the desk
	MailChange    Change = "mail"    // mail was queued

	// EndpointChange: a webhook endpoint was paused, let go on or deleted, or has another secret.
	EndpointChange Change = "endpoints"
)

// Limits are caps that an operator sets; zero is no cap.
type Limits struct {
	Claims      int // orders that a staff user may hold who takes another one at the pages
	TokenClaims int // the same with a token of the desk API

	Keys        int   // API keys of an account that are not revoked, made by its users
	StoredBytes int64 // of the photos of an account

	// SecondFactor is who must have more than a password before they can do anything else.
	SecondFactor map[access.Audience]bool

	FourEyes FourEyes // what a second administrator has to approve

	StaffTokenAge time.Duration   // after which a token for the desk API ends
	DeskNetworks  access.Networks // where staff may work from; empty: anywhere
}

// Service runs the use cases.
type Service struct {
	*signin.SessionStore
	*retention.Cleaner
	limits        Limits
	store         *store.Store
	media         media.Store
	secrets       *secret.Box
	guard         *netguard.Guard
	clock         func() time.Time
	wait          func(context.Context, time.Duration) error
	mediaURLs     photo.URLs
	publicURL     string
	log           *slog.Logger
	testDelay     time.Duration
	secretOverlap time.Duration
	eventAge      time.Duration
	claimAge      time.Duration
	onDeliveries  func()
	onPhotos      func(accountID string, names []string)
	onMail        func()
	onChange      func(Change)
	flushRequests func(context.Context) error

	signIns  map[access.Audience]*signin.SignIn
	catalog  atomic.Pointer[catalog.Snapshot]
	paused   atomic.Pointer[[]int]                          // answer times that are not to be ordered now; nil: none
	keys     *ttlcache.Cache[access.SecretSum, *access.Key] // by the hash of their secret
	keyUses  *ttlcache.Cache[string, struct{}]              // by key id: those that were recorded lately
	pastDays *ttlcache.Cache[pastDaysKey, *pastDays]        // of overviews
	signers  map[access.Environment]*certificate.Signer
	running  sync.Map // of idempotencyKey: those of the creations that run on this node
}

// New returns the use cases over a store. It holds an empty catalog until RefreshCatalog is called.
func New(c Config) *Service {
	if c.OnDeliveries == nil {
		c.OnDeliveries = func() {}
	}
	if c.OnPhotos == nil {
		c.OnPhotos = func(string, []string) {}
	}
	if c.OnChange == nil {
		c.OnChange = func(Change) {}
	}
	if c.FlushRequests == nil {
		c.FlushRequests = func(context.Context) error { return nil }
	}
	if c.Wait == nil {
		c.Wait = pause.For
	}
	s := &Service{
		store: c.Store, media: c.Media, secrets: c.Secrets, guard: c.Guard, clock: c.Now, wait: c.Wait,
		log: c.Log, limits: c.Limits, mediaURLs: c.MediaURLs, publicURL: strings.TrimSuffix(c.PublicURL, "/"),
		testDelay: c.TestEventDelay, secretOverlap: c.SecretOverlap, eventAge: c.EventAge,
		claimAge:     c.ClaimAge,
		onDeliveries: c.OnDeliveries, onPhotos: c.OnPhotos, onMail: c.OnMail, onChange: c.OnChange,
		flushRequests: c.FlushRequests,
		signers:       newSigners(c.Secrets),
		keys:          ttlcache.New[access.SecretSum, *access.Key](cmp.Or(c.KeyLife, keyCacheLife), keyCacheSize),
		keyUses:       ttlcache.New[string, struct{}](keyUseGap, keyCacheSize),
		pastDays:      ttlcache.New[pastDaysKey, *pastDays](pastDaysLife, pastDaysSize),
	}
	if c.Secrets != nil {
		c.Store.SealLogs(audit.NewChain(c.Secrets.Derive(keyring.AuditChains)))
	}
	people := signin.Config{
		Store: c.Store, Secrets: c.Secrets, Now: c.Now, Log: c.Log, Host: s, Shared: c.SignInWindows,
		Required: c.Limits.SecondFactor,
	}
	s.Cleaner = retention.New(c.Store, c.Media, s.now, c.Log)
	s.SessionStore = signin.NewSessionStore(people)
	s.signIns = map[access.Audience]*signin.SignIn{
		access.Desk:   signin.New(people, s.SessionStore, access.Desk),
		access.Portal: signin.New(people, s.SessionStore, access.Portal),
	}
	if c.OpenID.Issuer != "" {
		c.OpenID.Now, c.OpenID.RedirectURL = c.Now, s.publicURL+"/desk/sign-in/openid/callback"
		s.signIns[access.Desk].OpenID = openid.New(c.OpenID)
	}
	s.catalog.Store(catalog.NewSnapshot(new(catalog.Document), 0, nil, nil))
	return s
}

// NeedsSecondFactor reports whether somebody has to set up a second factor before they can go on: where it is required,
// they have signed in with a password alone, and there is nothing else to ask them for.
func (s *Service) NeedsSecondFactor(ctx context.Context, session *access.Session) (bool, error) {
	if !s.limits.SecondFactor[session.Audience] || session.Factor {
		return false, nil
	}
	has, err := s.SignIn(session.Audience).HasSecondFactor(ctx, session.UserID)
	return !has, err
}

// DeskNetworks are where staff may work from; empty: anywhere.
func (s *Service) DeskNetworks() access.Networks { return s.limits.DeskNetworks }

// SignIn returns how the people of an audience sign in.
func (s *Service) SignIn(a access.Audience) *signin.SignIn { return s.signIns[a] }

// Address is where people open the pages, without a trailing slash.
func (s *Service) Address() string { return s.publicURL }

// CertificateURL is where the certificate with the id is shown.
func (s *Service) CertificateURL(id string) string { return s.publicURL + "/certificates/" + id }

// RotateSecrets seals everything with the current secret key that is sealed with a previous one.
func (s *Service) RotateSecrets(ctx context.Context) (*keyring.Resealed, error) {
	return keyring.Rotate(ctx, s.store, s.secrets, s.now())
}

// UnreadableSecrets calls f for every sealed value that no key opens, with the name of its table and the id of its row.
func (s *Service) UnreadableSecrets(ctx context.Context, f func(table, id string)) error {
	return keyring.Unreadable(ctx, s.store, s.secrets, s.now(), f)
}

// ParseID returns the stored form of an id that a person or program has given, in either case.
func ParseID(s string) (string, bool) { return uuid7.Parse(s) }

// now is the current time as the database keeps it.
func (s *Service) now() time.Time { return store.RoundTime(s.clock()) }

// byID reads the row with an id as somebody has given it, or returns the refusal where that is no id, or of no row.
func byID[T any](
	ctx context.Context, id string, read func(context.Context, string) (*T, error), refusal error,
) (*T, error) {
	id, ok := uuid7.Parse(id)
	if !ok {
		return nil, refusal
	}
	row, err := read(ctx, id)
	if err != nil {
		return nil, store.NotFoundAs(err, refusal)
	}
	return row, nil
}

// newestPosition stands for everything that was written.
const newestPosition = "newest"

// Written returns how far the database has written, for ReadAfter; empty where all reads show everything anyway. Where
// the database does not say it is everything.
func (s *Service) Written(ctx context.Context) string {
	p, err := s.store.Position(ctx)
	switch {
	case err != nil:
		return newestPosition
	case p == 0:
		return ""
	}
	return p.String()
}

// ReadAfter returns a context in which lists show at least what was written up to a position: so that people see what
// they have done, although a replica is behind. The empty one is everything.
func (s *Service) ReadAfter(ctx context.Context, position string) context.Context {
	return store.ReadAfter(ctx, store.ParsePosition(position))
}
