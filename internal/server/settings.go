package server

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/worker/deliver"
	"github.com/assayhq/assay/internal/worker/mail"
)

// Settings is everything an operator can set. Each is a flag, or an environment variable of the same name
// (--webhook-timeout is ASSAY_WEBHOOK_TIMEOUT); a flag wins.
type Settings struct {
	AccessSettings
	IssuerSettings
	SafetySettings
	NodeSettings
	OpenID OpenIDSettings

	keySource    string // that SecretKey is from, of one side of a move; empty: --secret-key
	databaseCopy string // opened instead of the one in Data, see OpenToCheck

	Data     string
	Database string
	Media    string

	Listen    string
	TLSListen string
	OpsListen string
	TLSCert   string
	TLSKey    string
	TLSDomain string

	PublicURL string
	MediaURL  string
	SecretKey string

	SecretKeyPrevious string
	secretFiles       map[string]string // by setting: the file that its value comes from

	MaxPhotoBytes     ByteSize
	AuthFailureLimit  int
	WebhookDelays     Durations
	WebhookTimeout    time.Duration
	WebhookPrivate    bool
	WebhookCAFile     string
	WebhookInFlight   int
	PhotoRequestAge   time.Duration
	UnusedPhotoAge    time.Duration
	ClaimAge          time.Duration
	AttemptAge        time.Duration
	DeliveryAge       time.Duration
	PhotoAge          time.Duration
	PortalLogAge      time.Duration
	TestEventDelay    time.Duration
	EventAge          time.Duration
	RequestLogAge     time.Duration
	SecretOverlap     time.Duration
	SMTPURL           string
	SMTPCAFile        string
	MailFrom          string
	LogFormat         string
	ShutdownDelay     time.Duration
	shutdownTimeLimit time.Duration
	bodyTimeLimit     time.Duration
	writeTimeLimit    time.Duration
}

// Bind adds the settings to a flag set with their defaults.
func (s *Settings) Bind(fs *flag.FlagSet) {
	s.MaxPhotoBytes = 10 << 20
	s.WebhookDelays = webhook.DefaultSchedule().Delays
	s.shutdownTimeLimit = 10 * time.Second
	s.bodyTimeLimit = 30 * time.Second
	s.writeTimeLimit = 30 * time.Second

	s.AccessSettings.bind(fs)
	s.IssuerSettings.bind(fs)
	s.SafetySettings.bind(fs)
	s.bindNodes(fs)
	s.bindOpenID(fs)
	fs.StringVar(&s.Data, "data", "data",
		"`folder` for the SQLite database, media, generated certificate and secrets")
	s.bindSecret(fs, &s.Database, "database", "postgres://… for PostgreSQL; empty: SQLite in --data")
	fs.StringVar(&s.Media, "media", "",
		"s3://BUCKET?endpoint=URL&region=R[&path_style=true][&serve=proxy|redirect] for photos; empty: a folder in --data")
	fs.StringVar(&s.Listen, "listen", "127.0.0.1:8080", "`address` for plain HTTP; empty: off")
	fs.StringVar(&s.TLSListen, "tls-listen", "127.0.0.1:8443", "`address` for HTTPS; empty: off")
	fs.StringVar(&s.OpsListen, "ops-listen", "127.0.0.1:9090",
		"`address` of /healthz, /readyz and /metrics; empty: off")
	fs.StringVar(&s.TLSCert, "tls-cert", "",
		"`file` with the certificate chain in PEM; empty: a self-signed one kept in --data")
	fs.StringVar(&s.TLSKey, "tls-key", "", "`file` with the private key in PEM")
	fs.StringVar(&s.TLSDomain, "tls-domain", "", "`name` to get automatic certificates for")
	fs.StringVar(&s.PublicURL, "public-url", "http://localhost:8080", "base URL of the portal, the desk and certificates")
	fs.StringVar(&s.MediaURL, "media-url", "https://localhost:8443/media", "base URL of photos; must be https")
	s.bindSecret(fs, &s.SecretKey, "secret-key", "encrypts secrets at rest, at least 32 random characters; "+
		"empty: generated into --data; required with --database")
	s.bindSecret(fs, &s.SecretKeyPrevious, "secret-key-previous",
		"the key that --secret-key replaces: what it has sealed is still read, until assay secrets rotate")
	fs.Var(&s.MaxPhotoBytes, "max-photo-bytes", "largest photo `size` that is accepted")
	fs.IntVar(&s.AuthFailureLimit, "auth-failure-limit", ratelimit.DefaultFailureLimit,
		"failed authentications per minute from one address before it is throttled; 0: no limit")
	fs.Var(&s.WebhookDelays, "webhook-retry-delays", "`delays` before each retry of a delivery")
	fs.DurationVar(&s.WebhookTimeout, "webhook-timeout", 10*time.Second,
		"time limit of one delivery attempt, and of fetching its token")
	fs.BoolVar(&s.WebhookPrivate, "webhook-allow-private", false,
		"development only: allow private addresses as webhook destinations")
	fs.StringVar(&s.WebhookCAFile, "webhook-ca-file", "", "`file` with additional trusted CAs for webhooks, in PEM")
	fs.IntVar(&s.WebhookInFlight, "webhook-in-flight", deliver.DefaultInFlight, "concurrent delivery attempts")
	fs.DurationVar(&s.PhotoRequestAge, "photo-request-expiry", 168*time.Hour,
		"unanswered photo requests end as unable-to-verify")
	fs.DurationVar(&s.UnusedPhotoAge, "unused-photo-expiry", 168*time.Hour,
		"uploaded photos that no order uses are deleted")
	fs.DurationVar(&s.ClaimAge, "claim-expiry", 2*time.Hour, "a claim without activity returns to the queue")
	fs.DurationVar(&s.AttemptAge, "attempt-retention", 720*time.Hour, "how long delivery attempts are kept")
	fs.DurationVar(&s.DeliveryAge, "delivery-retention", 2160*time.Hour, "how long ended deliveries are kept")
	fs.DurationVar(&s.PhotoAge, "photo-retention", 0,
		"how long the photos of an order are kept after its end; 0: for good")
	fs.DurationVar(&s.PortalLogAge, "portal-log-retention", 0,
		"how long entries of the logs of the portal are kept; 0: for good")
	fs.DurationVar(&s.TestEventDelay, "test-event-delay", 2*time.Second,
		"how long the events of Test orders wait at least, so that they do not overtake the answer; 0: not at all")
	fs.DurationVar(&s.EventAge, "event-retention", 720*time.Hour, "how long events can be read")
	fs.DurationVar(&s.RequestLogAge, "request-log-retention", 168*time.Hour,
		"how long API requests are kept in the request log; 0: they are not recorded")
	fs.DurationVar(&s.SecretOverlap, "secret-overlap", 24*time.Hour,
		"how long webhooks are signed with the previous secret as well after a rotation; 0: not at all")
	s.bindSecret(fs, &s.SMTPURL, "smtp-url",
		"mail server: smtp://user:password@host:587 with STARTTLS, or smtps://user:password@host:465; empty: no mail is sent")
	fs.StringVar(&s.MailFrom, "mail-from", "",
		"`address` that mail is sent from, such as Assay <assay@example.com>; required with --smtp-url")
	fs.StringVar(&s.SMTPCAFile, "smtp-ca-file", "", "`file` with additional trusted CAs for the mail server, in PEM")
	fs.DurationVar(&s.ShutdownDelay, "shutdown-delay", 0,
		"how long /readyz is 503 before the listeners close, so that load balancers go elsewhere")
	fs.StringVar(&s.LogFormat, "log-format", "", "text or json; empty: text on a terminal, else json")
}

// named is the value of a setting with its name, for checks of several: in a list, problems are told in its order.
type named[T any] struct {
	name  string
	value T
}

// Check refuses settings that cannot work, all at once and in words.
func (s *Settings) Check() error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	u, err := url.Parse(s.PublicURL)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" ||
		u.Fragment != "":
		refuse("--public-url must be an absolute http or https URL without query and fragment")
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }): // as certificates want it
		refuse("--public-url must name its host in ASCII: write an international name in its xn-- form")
	}
	if s.Data == "" {
		refuse("--data must name a folder")
	}
	if s.Database != "" && !store.IsPostgres(s.Database) {
		refuse("--database must be postgres://…, or empty for SQLite in --data")
	}
	if s.Database != "" && s.SecretKey == "" {
		refuse("--secret-key is required with --database: every node needs the same key")
	}
	if s.SecretKey != "" && secret.Weak(s.SecretKey) {
		refuse("--secret-key must have at least %d characters: make one with, for example, openssl rand -hex 32",
			secret.MinKeyLength)
	}
	if s.Media != "" {
		if _, err := media.ParseS3(s.Media); err != nil {
			refuse("--media %w", err)
		}
	}
	if s.SMTPURL != "" {
		if _, err := mail.ParseServer(s.SMTPURL); err != nil {
			refuse("--smtp-url %w", err)
		}
		if _, err := mail.ParseFrom(s.MailFrom); err != nil {
			refuse("--mail-from %w", err)
		}
	}
	s.AccessSettings.check(refuse)
	s.IssuerSettings.check(refuse)
	s.SafetySettings.check(refuse)
	s.checkNodes(refuse)
	s.OpenID.check(refuse)
	if (s.TLSCert == "") != (s.TLSKey == "") {
		refuse("--tls-cert and --tls-key belong together")
	}
	if s.TLSDomain != "" && (s.TLSCert != "" || s.TLSKey != "") {
		refuse("--tls-domain gets certificates by itself: give it, or --tls-cert and --tls-key")
	}
	if s.MaxPhotoBytes < 1 || s.MaxPhotoBytes > 1<<40 { // an upload has several
		refuse("--max-photo-bytes must be from 1 to 1TiB")
	}
	if s.LogFormat != "" && s.LogFormat != "text" && s.LogFormat != "json" {
		refuse("--log-format must be text or json")
	}
	if s.ShutdownDelay < 0 {
		refuse("--shutdown-delay must not be negative")
	}
	if s.AuthFailureLimit < 0 {
		refuse("--auth-failure-limit must not be negative")
	}
	if s.WebhookInFlight < 1 {
		refuse("--webhook-in-flight must be at least 1")
	}
	for _, d := range []named[time.Duration]{
		{"webhook-timeout", s.WebhookTimeout},
		{"photo-request-expiry", s.PhotoRequestAge},
		{"unused-photo-expiry", s.UnusedPhotoAge},
		{"claim-expiry", s.ClaimAge},
		{"attempt-retention", s.AttemptAge},
		{"delivery-retention", s.DeliveryAge},
		{"event-retention", s.EventAge},
	} {
		if d.value <= 0 {
			refuse("--%s must be more than 0", d.name)
		}
	}
	for _, d := range []named[time.Duration]{
		{"test-event-delay", s.TestEventDelay},
		{"secret-overlap", s.SecretOverlap},
		{"photo-retention", s.PhotoAge},
		{"request-log-retention", s.RequestLogAge},
		{"portal-log-retention", s.PortalLogAge},
	} {
		if d.value < 0 {
			refuse("--%s must not be negative", d.name)
		}
	}
	return errors.Join(problems...)
}
