// Package smtptest runs a mail server for tests, with STARTTLS or implicit TLS, authentication, and configurable
// refusals.
package smtptest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/assayhq/assay/internal/testkit/must"
)

// What clients authenticate with.
const (
	User     = "assay@mail.test"
	Password = "p@ss:w/rd %1"
)

// Options configure a server.
type Options struct {
	NoTLS    bool // neither STARTTLS nor TLS
	Implicit bool // TLS from the first byte
	Auth     bool // authentication is required
	Login    bool // by LOGIN instead of PLAIN

	// Refuse is called for each recipient; nil accepts all. It may count, or wait.
	Refuse func(to string) error
	// Taken is called when a message was read, before it is acknowledged; an error refuses it.
	Taken func(m *Message) error
}

// Server is a running mail server.
type Server struct {
	Address string
	CAFile  string // trusts the server

	options Options
	mu      sync.Mutex
	mail    []*Message
	arrived chan struct{} // closed and replaced with each message
	logins  int
}

// Start runs a server until the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	certificate, pem := must.SelfSigned(t, net.IPv4(127, 0, 0, 1))
	s := &Server{options: o, arrived: make(chan struct{}), CAFile: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(s.CAFile, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{server: s, conn: c}, nil
	}))
	server.Domain, server.AllowInsecureAuth, server.EnableSMTPUTF8 = "mail.test", o.NoTLS, true
	server.ReadTimeout, server.WriteTimeout = time.Minute, time.Minute
	server.ErrorLog = log.New(io.Discard, "", 0)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if !o.NoTLS {
		server.TLSConfig = config
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address = listener.Addr().String()
	if o.Implicit {
		listener = tls.NewListener(listener, config)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Errorf("mail server: %v", err)
		}
	})
	t.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
	return s
}

// URL returns the server as a setting: with credentials if required, and with STARTTLS if offered.
func (s *Server) URL() string {
	u := url.URL{Scheme: "smtp", Host: s.Address}
	if s.options.Implicit {
		u.Scheme = "smtps"
	} else if !s.options.NoTLS {
		u.RawQuery = "starttls=required"
	}
	if s.options.Auth {
		u.User = url.UserPassword(User, Password)
	}
	return u.String()
}

// Mail returns the messages accepted so far.
func (s *Server) Mail() []*Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mail)
}

// Logins returns how often a password was sent.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Await waits for the first message to an address whose subject contains the words, and returns it.
func (s *Server) Await(t testing.TB, to, words string) *Message {
	t.Helper()
	var found *Message
	s.await(t, fmt.Sprintf("a mail to %s about %q", to, words), func() bool {
		at := slices.IndexFunc(s.mail, func(m *Message) bool {
			return slices.Contains(m.To, to) && strings.Contains(m.Subject, words)
		})
		if at >= 0 {
			found = s.mail[at]
		}
		return at >= 0
	})
	return found
}

// AwaitCount waits for n messages and returns all.
func (s *Server) AwaitCount(t testing.TB, n int) []*Message {
	t.Helper()
	s.await(t, fmt.Sprintf("%d mails", n), func() bool { return len(s.mail) >= n })
	return s.Mail()
}

// await waits until the condition is true; it is checked after every message.
func (s *Server) await(t testing.TB, what string, is func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		s.mu.Lock()
		arrived, done := s.arrived, is()
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-arrived:
		case <-limit:
			t.Fatalf("there is not %s", what)
		}
	}
}

func (s *Server) take(m *Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mail = append(s.mail, m)
	close(s.arrived)
	s.arrived = make(chan struct{})
}

// session is a client session.
type session struct {
	server *Server
	conn   *smtp.Conn
	known  bool // has authenticated
	from   string
	to     []string
}

// AuthMechanisms implements smtp.AuthSession.
func (s *session) AuthMechanisms() []string {
	switch {
	case !s.server.options.Auth:
		return nil
	case s.server.options.Login:
		return []string{sasl.Login}
	}
	return []string{sasl.Plain}
}

// Auth implements smtp.AuthSession.
func (s *session) Auth(mechanism string) (sasl.Server, error) {
	if mechanism == sasl.Login {
		return &loginServer{session: s}, nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return s.authenticate(user, password) }), nil
}

func (s *session) authenticate(user, password string) error {
	s.server.mu.Lock()
	s.server.logins++
	s.server.mu.Unlock()
	if user != User || password != Password {
		return smtp.ErrAuthFailed
	}
	s.known = true
	return nil
}

// loginServer is the LOGIN mechanism: it asks for the name, then for the password.
type loginServer struct {
	session *session
	asked   int
	user    string
}

// Next implements sasl.Server.
func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	l.asked++
	switch l.asked {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.session.authenticate(l.user, string(response))
}

// Mail implements smtp.Session.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.options.Auth && !s.known {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

// Rcpt implements smtp.Session.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if refuse := s.server.options.Refuse; refuse != nil {
		if err := refuse(to); err != nil {
			return err
		}
	}
	s.to = append(s.to, to)
	return nil
}

// Data implements smtp.Session.
func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := read(raw)
	if err != nil {
		return &smtp.SMTPError{
			Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: fmt.Sprintf("unreadable: %v", err),
		}
	}
	_, encrypted := s.conn.TLSConnectionState()
	m.From, m.To, m.Encrypted = s.from, s.to, encrypted
	if taken := s.server.options.Taken; taken != nil {
		if err := taken(m); err != nil {
			return err
		}
	}
	s.server.take(m)
	return nil
}

// Reset implements smtp.Session.
func (s *session) Reset() { s.from, s.to = "", nil }

// Logout implements smtp.Session.
func (s *session) Logout() error { return nil }

// Temporarily returns a temporary refusal.
func Temporarily() error {
	return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "greylisted, come again"}
}

// Permanently returns a permanent refusal. Like many servers, it repeats the address.
func Permanently(to string) error {
	return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "<" + to + ">: user unknown"}
}
