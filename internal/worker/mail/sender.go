// Package mail sends mail by SMTP. The queue is in the database: the transaction that creates an invitation, for
// example, also queues its mail (transactional outbox). A sender claims due mails, one at a time, hands each to the
// mail server and removes it from the queue. Every mail is therefore sent at least once, and more than once only if
// a crash or a database outage prevented its removal.
//
// Several nodes may send from one database: a mail is claimed by one of them at a time.
package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/mail"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	gomail "github.com/wneessen/go-mail"

	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/worker/lease"
	"github.com/assayhq/assay/internal/worker/liveness"
)

// Config configures a Sender.
type Config struct {
	Service *service.Service
	Server  *Server
	Now     func() time.Time
	From    *mail.Address
	RootCAs *x509.CertPool // trusted for the mail server; nil: those of the system
	Log     *slog.Logger

	// Who writes, below every mail. Empty: only the name of the service.
	IssuerName    string
	IssuerAddress string

	Lease   *lease.Lease          // nil: there is no other node
	Metrics prometheus.Registerer // nil: not registered
}

// Sender sends due mails. It is a worker.
type Sender struct {
	Config
	tls     *tls.Config
	metrics *metrics
	woken   chan struct{}
	done    *liveness.Mark
}

const (
	pollInterval = 5 * time.Second  // other processes queue mail, too
	attemptLimit = 40 * time.Second // for one mail, including the connection; shorter than a claim
	stopGrace    = 9 * time.Second  // for a running attempt when the sender stops
)

// New returns a sender; Run starts it.
func New(c Config) *Sender {
	s := &Sender{
		Config: c, woken: make(chan struct{}, 1), done: liveness.New(),
		tls: &tls.Config{ServerName: c.Server.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12},
	}
	m, collectors := newMetrics(c.Service)
	s.metrics = m
	if c.Metrics != nil {
		c.Metrics.MustRegister(collectors...)
	}
	return s
}

// Progress tells how long ago the sender last looked for mail, between attempts.
func (s *Sender) Progress() (age, limit time.Duration) {
	return s.done.Age(), attemptLimit + liveness.Limit
}

// Name implements the worker interface.
func (s *Sender) Name() string { return "mail" }

// Wake tells the sender that mail was queued. It does not block.
func (s *Sender) Wake() { pause.Signal(s.woken) }

// Run sends until ctx ends, waits up to 9 seconds for a running attempt, and returns nil. It returns an error if
// the database is unavailable.
func (s *Sender) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer s.Lease.Return(ctx)
	for {
		mine, err := s.Lease.Do(ctx, 2*pollInterval, s.Round)
		if err != nil {
			return notEnded(ctx, err)
		}
		wait := pollInterval
		if mine {
			if wait, err = s.untilDue(ctx); err != nil {
				return notEnded(ctx, err)
			}
		} else {
			s.done.Set() // another node sends
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-s.woken:
		}
	}
}

// untilDue returns how long to wait for the next mail.
func (s *Sender) untilDue(ctx context.Context) (time.Duration, error) {
	due, err := s.Service.NextMailDue(ctx)
	if until := due.Sub(s.Now()); err == nil && !due.IsZero() && until < pollInterval {
		return max(until, time.Second), nil // due mails wait for the mail server to recover
	}
	return pollInterval, err
}

// Round sends all due mails over one connection. It stops early if the mail server is unavailable.
func (s *Sender) Round(ctx context.Context) error {
	attempts, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, cut) })
	defer stop()
	var open *session
	defer func() {
		if open != nil {
			limited, cancel := context.WithTimeout(attempts, time.Second)
			defer cancel()
			open.close(limited)
		}
	}()
	for ctx.Err() == nil {
		m, err := s.Service.NextMail(ctx)
		if err != nil || m == nil {
			if err == nil {
				s.done.Set()
			}
			return notEnded(ctx, err)
		}
		s.done.Set()
		again, err := s.attempt(attempts, &open, m)
		if err != nil || !again {
			return err
		}
	}
	return nil
}

// notEnded drops an error that only says that the sender was stopped.
func notEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// attempt tries to send a mail and records the result. It reports whether to try further mails.
func (s *Sender) attempt(ctx context.Context, open **session, m *service.OutgoingMail) (again bool, err error) {
	limited, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	sendErr := s.send(limited, open, m)
	// The result is recorded even if the sender was stopped meanwhile.
	ctx = context.WithoutCancel(ctx)
	log := s.Log.With("mail_id", m.ID, "kind", string(m.Kind), "account_id", m.AccountID, "attempt", m.Attempts)
	if sendErr == nil {
		s.metrics.sent.Inc()
		log.InfoContext(ctx, "a mail was sent")
		return true, s.Service.MailSent(ctx, m)
	}
	f, ok := errors.AsType[*failure](sendErr)
	if !ok {
		f = &failure{stage: stageMessage, lost: true, cause: sendErr} // it cannot be composed
	}
	if f.lost {
		s.metrics.failed.Inc()
		log.WarnContext(ctx, "a mail cannot be delivered", "failure", f.reason())
		return *open != nil, s.Service.MailRefused(ctx, m, f.reason())
	}
	kept, err := s.Service.MailPutOff(ctx, m, f.reason())
	if !kept {
		s.metrics.failed.Inc()
		log.WarnContext(ctx, "a mail is given up", "failure", f.reason())
	} else {
		s.metrics.putOff.Inc()
		log.WarnContext(ctx, "a mail could not be sent for now", "failure", f.reason(), "cause", f.logCause())
	}
	return *open != nil, err
}

// send hands a mail to the server, over the open session or a new one. Afterwards *open is set only if the session
// can be reused.
func (s *Sender) send(ctx context.Context, open **session, m *service.OutgoingMail) error {
	message, err := compose(m, m.Signed(s.IssuerName, s.IssuerAddress), s.From, s.Now())
	if err != nil {
		return err
	}
	if *open == nil {
		if *open, err = s.Server.connect(ctx, s.tls); err != nil {
			return err
		}
	}
	err = (*open).send(ctx, s.From.Address, m.To, message)
	if !(*open).ready(ctx) {
		_ = (*open).conn.Close()
		*open = nil
	}
	return err
}

// logCause returns what may be logged of the cause: nothing that the server said about a mail.
func (f *failure) logCause() string {
	switch f.stage {
	case stageConnect, stageTLS, stageAuth:
		return f.cause.Error()
	}
	return ""
}

type metrics struct {
	sent, putOff, failed prometheus.Counter
}

func newMetrics(s *service.Service) (*metrics, []prometheus.Collector) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		sent:   counter("assay_mail_sent_total", "Mails that the mail server took."),
		putOff: counter("assay_mail_put_off_total", "Attempts to send a mail that failed for now."),
		failed: counter("assay_mail_failed_total",
			"Mails that the mail server refused for good, or that could not be sent for a day."),
	}
	return m, []prometheus.Collector{m.sent, m.putOff, m.failed, &queueState{s}}
}

// queueState collects the number of queued mails in the database, over all nodes.
type queueState struct{ service *service.Service }

const queueStateTimeout = 2 * time.Second

var queuedMetric = prometheus.NewDesc("assay_mail_queued", "Mails that wait to be sent, or to be tried again.", nil,
	nil)

// Describe implements prometheus.Collector.
func (q *queueState) Describe(d chan<- *prometheus.Desc) { d <- queuedMetric }

// Collect implements prometheus.Collector. If the database cannot be read, the metric is omitted.
func (q *queueState) Collect(m chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), queueStateTimeout)
	defer cancel()
	if queued, _, err := q.service.MailCounts(ctx); err == nil {
		m <- prometheus.MustNewConstMetric(queuedMetric, prometheus.GaugeValue, float64(queued))
	}
}

// compose returns the mail in wire format. The message id is the queue id, so that receivers recognise a mail that
// is sent twice.
func compose(m *service.OutgoingMail, l letter.Letter, from *mail.Address, now time.Time) ([]byte, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.Subject(l.Subject)
	msg.SetDateWithValue(now)
	msg.SetMessageIDWithValue(m.ID + "@" + domainOf(from))
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no automatic replies
	msg.SetGenHeader(gomail.HeaderContentLang, string(l.Locale))
	msg.SetBodyString(gomail.TypeTextPlain, l.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, l.HTML)
	var b bytes.Buffer
	_, err := msg.WriteTo(&b)
	return b.Bytes(), err
}

func domainOf(a *mail.Address) string { return a.Address[strings.LastIndexByte(a.Address, '@')+1:] }
