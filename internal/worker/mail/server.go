package mail

import (
	"errors"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Server is the mail server that takes what is sent, as --smtp-url names it.
type Server struct {
	Host     string
	Port     int
	User     string // empty: no authentication
	Password string
	TLS      TLS
}

// TLS is how a connection is encrypted.
type TLS int

// The ways of encryption.
const (
	StartTLS TLS = iota // required: nothing is sent to a server that does not offer it
	Implicit            // from the first byte
	NoTLS               // on localhost, or if the operator chose it
)

const (
	submissionPort  = 587
	submissionsPort = 465
)

// ParseServer parses smtp://user:password@host:587 or smtps://user:password@host:465. STARTTLS is required with
// smtp, except on localhost; ?starttls=off and ?starttls=required override that. Errors never contain the URL,
// because it has a password.
func ParseServer(raw string) (*Server, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New(
			"cannot be read: it has the form smtp://user:password@host:587, with special characters of user and password " +
				"percent-encoded",
		)
	}
	s := &Server{Host: u.Hostname(), User: u.User.Username()}
	s.Password, _ = u.User.Password()
	switch u.Scheme {
	case "smtp":
		s.Port = submissionPort
		if s.loopback() {
			s.TLS = NoTLS
		}
	case "smtps":
		s.Port, s.TLS = submissionsPort, Implicit
	default:
		return nil, errors.New("must begin with smtp:// or smtps://")
	}
	if s.Host == "" {
		return nil, errors.New("names no host")
	}
	if port := u.Port(); port != "" {
		if s.Port, err = strconv.Atoi(port); err != nil || s.Port < 1 || s.Port > 65535 {
			return nil, errors.New("has a port that is none: it must be from 1 to 65535")
		}
	}
	if u.Path != "" && u.Path != "/" || u.Fragment != "" {
		return nil, errors.New("must end after the host and port, or with ?starttls=")
	}
	if (s.User == "") != (s.Password == "") {
		return nil, errors.New("needs both user and password, or neither")
	}
	if strings.ContainsFunc(s.User+s.Password, unicode.IsControl) {
		return nil, errors.New("must not hold control characters")
	}
	if err := s.choose(u.Query()); err != nil {
		return nil, err
	}
	if s.User != "" && s.TLS == NoTLS && !s.loopback() {
		return nil, errors.New(
			"would send the password unencrypted: starttls=off and a password go together on the same machine only",
		)
	}
	return s, nil
}

// choose applies the encryption options of the query.
func (s *Server) choose(q url.Values) error {
	for name, values := range q {
		if name != "starttls" || len(values) != 1 || s.TLS == Implicit {
			return errors.New("knows one parameter, of smtp:// only: starttls")
		}
		switch values[0] {
		case "required":
			s.TLS = StartTLS
		case "off":
			s.TLS = NoTLS
		default:
			return errors.New("has an unknown value of starttls: it must be required or off")
		}
	}
	return nil
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (s *Server) loopback() bool { return Loopback(s.Host) }

// Exposed reports whether mail is sent unencrypted over a network.
func (s *Server) Exposed() bool { return s.TLS == NoTLS && !s.loopback() }

func (s *Server) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// String keeps the password out of logs.
func (s *Server) String() string { return "mail server " + s.address() }

// GoString keeps the password out of %#v.
func (s *Server) GoString() string { return s.String() }

// ParseFrom parses the sender address, with or without a name: Assay <assay@example.com>.
func ParseFrom(raw string) (*mail.Address, error) {
	if raw == "" {
		return nil, errors.New("is required with --smtp-url")
	}
	a, err := mail.ParseAddress(raw)
	if err != nil || strings.ContainsFunc(raw, unicode.IsControl) {
		return nil, errors.New("must be an address such as assay@example.com or Assay <assay@example.com>")
	}
	return a, nil
}
