// Package mail sends mail by SMTP. The queue is in the database: the transaction that made an invitation, say, has
// put its mail there. A sender claims what is due, one mail at a time, hands it to the mail server and takes it out
// of the queue. So every mail is sent at least once, and twice only when a crash, or a database out of reach, kept
// the second step from happening; nothing of a transaction that failed is ever sent.
//
// Several nodes may send from one database: a mail is with one of them at a time.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/mail"
	"time"

	"github.com/assayhq/assay/internal/service"
	"github.com/prometheus/client_golang/prometheus"
)

// Config is what a sender works with.
type Config struct {
	Service *service.Service
	Server  *Server
	From    *mail.Address
	RootCAs *x509.CertPool // trusted for the mail server; nil: those of the system
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: none are kept
}

// Sender sends what is due. It is a worker.
type Sender struct {
	Config
	tls     *tls.Config
	metrics *metrics
	woken   chan struct{}
}

const (
	pollInterval = 5 * time.Second  // between looks, even if nothing wakes the sender: other processes queue mail, too
	attemptLimit = 40 * time.Second // for one mail, the connection included; less than a claim lasts
	stopGrace    = 9 * time.Second  // for a running attempt when the sender stops
)

// New returns a sender; Run sets it to work.
func New(c Config) *Sender {
	s := &Sender{
		Config: c, woken: make(chan struct{}, 1),
		tls: &tls.Config{ServerName: c.Server.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12},
	}
	m, collectors := newMetrics(c.Service)
	s.metrics = m
	if c.Metrics != nil {
		c.Metrics.MustRegister(collectors...)
	}
	return s
}

// Name names the worker.
func (s *Sender) Name() string { return "mail" }

// Wake tells the sender that mail was queued. It never waits.
func (s *Sender) Wake() {
	select {
	case s.woken <- struct{}{}:
	default: // it will look anyway
	}
}

// Run sends until ctx ends, lets a running attempt finish for up to 9 seconds, and returns nil. A database out of
// reach ends it with an error.
func (s *Sender) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := pollInterval
		if err := s.Round(ctx); err != nil {
			return err
		}
		due, err := s.Service.NextMailDue(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if until := due.Sub(s.Service.Now()); !due.IsZero() && until < wait {
			wait = max(until, time.Second) // what is due and was not sent waits for the server to come back
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

// Round sends all that is due, over one connection. It ends early when the mail server cannot be used.
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
			return notEnded(ctx, err)
		}
		again, err := s.attempt(attempts, &open, m)
		if err != nil || !again {
			return err
		}
	}
	return nil
}

// notEnded leaves out an error that only says that the sender was stopped.
func notEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// attempt tries to send a mail and writes down what became of it. It reports whether the server can be tried with more.
func (s *Sender) attempt(ctx context.Context, open **session, m *service.OutgoingMail) (again bool, err error) {
	limited, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	sendErr := s.send(limited, open, m)
	// It is written down whatever became of the sender meanwhile.
	ctx = context.WithoutCancel(ctx)
	log := s.Log.With("mail_id", m.ID, "kind", string(m.Kind), "account_id", m.AccountID, "attempt", m.Attempts)
	if sendErr == nil {
		s.metrics.sent.Inc()
		log.InfoContext(ctx, "a mail was sent")
		return true, s.Service.MailSent(ctx, m)
	}
	f, ok := errors.AsType[*failure](sendErr)
	if !ok {
		f = &failure{stage: stageMessage, lost: true, cause: sendErr} // it cannot even be written
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

// send hands a mail to the server, over the open session or a new one. Afterwards there is an open session only if
// it can be used again.
func (s *Sender) send(ctx context.Context, open **session, m *service.OutgoingMail) error {
	message, err := compose(m, s.From, s.Service.Now())
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

// logCause is what may be logged of the cause: nothing that the server said about a mail.
func (f *failure) logCause() string {
	switch f.stage {
	case stageConnect, stageTLS, stageAuth:
		return f.cause.Error()
	}
	return ""
}
