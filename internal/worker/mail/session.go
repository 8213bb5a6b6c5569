package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail/smtp"
)

// failure is why a mail was not sent.
type failure struct {
	stage string // of the SMTP session
	code  string // SMTP reply code; may be empty
	lost  bool   // permanent: the mail can never be delivered
	cause error
}

// Error contains nothing that the server said: it may repeat the address.
func (f *failure) Error() string { return "mail server: " + f.reason() }

func (f *failure) Unwrap() error { return f.cause }

// reason is recorded and logged.
func (f *failure) reason() string { return strings.TrimSpace(f.stage + " " + f.code) }

// Stages of the conversation that belong to the connection. What fails there is not the fault of the mail.
const (
	stageConnect = "connect"
	stageTLS     = "tls"
	stageAuth    = "auth"
	stageSender  = "sender"
	stageMessage = "message"
	stageReceive = "recipient"
)

var enhancedCode = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// failed returns the failure of a stage. Only recipients and content can be refused permanently; everything else
// concerns the two servers and can be fixed while the mail waits.
func failed(stage string, err error) *failure {
	f := &failure{stage: stage, cause: err}
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		f.code = strings.TrimSpace(strconv.Itoa(answer.Code) + " " + enhancedCode.FindString(answer.Msg))
		f.lost = answer.Code >= 500 && (stage == stageReceive || stage == stageMessage)
	}
	return f
}

// session is an open SMTP session.
type session struct {
	client *smtp.Client
	conn   net.Conn
}

// closeAtEnd closes a connection when ctx ends before stop is called: the SMTP library has no contexts.
func closeAtEnd(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.Close() })
}

// connect opens a session, encrypted and authenticated as configured.
func (s *Server) connect(ctx context.Context, config *tls.Config) (_ *session, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address())
	if err != nil {
		return nil, failed(stageConnect, err)
	}
	defer closeAtEnd(ctx, conn)()
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	talk := conn
	if s.TLS == Implicit {
		encrypted := tls.Client(conn, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, failed(stageTLS, err)
		}
		talk = encrypted
	}
	client, err := smtp.NewClient(talk, s.Host)
	if err != nil {
		return nil, failed(stageConnect, err)
	}
	if err := client.Hello(hostName()); err != nil {
		return nil, failed(stageConnect, err)
	}
	if s.TLS == StartTLS {
		if offered, _ := client.Extension("STARTTLS"); !offered {
			return nil, failed(stageTLS, errNoStartTLS)
		}
		if err := client.StartTLS(config); err != nil {
			return nil, failed(stageTLS, err)
		}
	}
	if s.User != "" {
		if err := client.Auth(&login{server: s}); err != nil {
			return nil, failed(stageAuth, err)
		}
	}
	return &session{client: client, conn: conn}, nil
}

var (
	errNoStartTLS  = errors.New("the mail server does not offer STARTTLS")
	errNoMechanism = errors.New(
		"the mail server offers no way to authenticate that is known here: SCRAM-SHA-256, PLAIN, LOGIN",
	)
	errNotEncrypted = errors.New("the password is not sent unencrypted")
)

// hostName is the name for EHLO.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" || strings.ContainsAny(name, " \r\n") {
		return "localhost"
	}
	return name
}

// send sends one mail; nil means that the server has accepted it.
func (s *session) send(ctx context.Context, from, to string, message []byte) error {
	defer closeAtEnd(ctx, s.conn)()
	if err := s.client.Mail("<" + from + ">"); err != nil {
		return failed(stageSender, err)
	}
	if err := s.client.Rcpt("<" + to + ">"); err != nil {
		return failed(stageReceive, err)
	}
	w, err := s.client.Data()
	if err != nil {
		return failed(stageMessage, err)
	}
	if _, err := w.Write(message); err != nil {
		return failed(stageMessage, err)
	}
	if err := w.Close(); err != nil {
		return failed(stageMessage, err)
	}
	return nil
}

// ready resets the session for the next mail, and reports whether it can be reused.
func (s *session) ready(ctx context.Context) bool {
	defer closeAtEnd(ctx, s.conn)()
	return s.client.Reset() == nil
}

// close ends the session and ignores errors.
func (s *session) close(ctx context.Context) {
	defer closeAtEnd(ctx, s.conn)()
	_ = s.client.Quit()
	_ = s.conn.Close()
}

// login authenticates with the best mechanism that the server offers.
type login struct {
	server *Server
	chosen smtp.Auth
}

// Start implements smtp.Auth.
func (l *login) Start(info *smtp.ServerInfo) (string, []byte, error) {
	s := l.server
	if !info.TLS && !s.loopback() {
		return "", nil, errNotEncrypted
	}
	for _, way := range []struct {
		name string
		auth smtp.Auth
	}{
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(s.User, s.Password)},
		{"PLAIN", smtp.PlainAuth("", s.User, s.Password, s.Host, s.loopback())},
		{"LOGIN", smtp.LoginAuth(s.User, s.Password, s.Host, s.loopback())},
	} {
		if slices.ContainsFunc(info.Auth, func(offered string) bool { return strings.EqualFold(offered, way.name) }) {
			l.chosen = way.auth
			return way.auth.Start(info)
		}
	}
	return "", nil, errNoMechanism
}

// Next implements smtp.Auth.
func (l *login) Next(fromServer []byte, more bool) ([]byte, error) {
	return l.chosen.Next(fromServer, more)
}
