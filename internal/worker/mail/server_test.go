package mail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/worker/mail"
)

func TestParseServer(t *testing.T) {
	for address, want := range map[string]mail.Server{
		"smtp://mail.example":           {Host: "mail.example", Port: 587, TLS: mail.StartTLS},
		"smtp://u:p@mail.example:2525/": {Host: "mail.example", Port: 2525, User: "u", Password: "p", TLS: mail.StartTLS},
		"smtps://a%40b:c%3Ad@mail.example": {
			Host: "mail.example", Port: 465, User: "a@b", Password: "c:d", TLS: mail.Implicit,
		},
		"smtp://127.0.0.1:1025": {Host: "127.0.0.1", Port: 1025, TLS: mail.NoTLS},
		"smtp://u:p@localhost":  {Host: "localhost", Port: 587, User: "u", Password: "p", TLS: mail.NoTLS},
		"smtp://[::1]:25":       {Host: "::1", Port: 25, TLS: mail.NoTLS},
		"smtp://u:p@127.0.0.1?starttls=required": {
			Host: "127.0.0.1", Port: 587, User: "u", Password: "p", TLS: mail.StartTLS,
		},
		"smtp://relay.internal:25?starttls=off": {Host: "relay.internal", Port: 25, TLS: mail.NoTLS},
		"smtps://127.0.0.1:4650":                {Host: "127.0.0.1", Port: 4650, TLS: mail.Implicit},
		"smtp://u:p@mail.example:587?starttls=required": {
			Host: "mail.example", Port: 587, User: "u", Password: "p", TLS: mail.StartTLS,
		},
	} {
		got, err := mail.ParseServer(address)
		if err != nil || *got != want {
			t.Errorf("%s is %+v (%v), want %+v", address, got, err, want)
		}
	}
}

func TestParseServer_Refused(t *testing.T) {
	for address, want := range map[string]string{
		"smtp://u:s3cret%zz@mail.example":             "cannot be read",
		"mail.example:587":                            "must begin with smtp:// or smtps://",
		"http://u:s3cret@mail.example":                "must begin with smtp:// or smtps://",
		"smtp://u:s3cret@":                            "names no host",
		"smtp://u:s3cret@mail.example:0":              "from 1 to 65535",
		"smtp://u:s3cret@mail.example:99999":          "from 1 to 65535",
		"smtp://u:s3cret@mail.example/inbox":          "must end after the host and port",
		"smtp://u:s3cret@mail.example#x":              "must end after the host and port",
		"smtp://s3cret@mail.example":                  "both user and password",
		"smtp://:s3cret@mail.example":                 "both user and password",
		"smtp://u:s3cret%0d%0aX@mail.example":         "control characters",
		"smtp://u:s3cret@mail.example?starttls=maybe": "required or off",
		"smtp://u:s3cret@mail.example?tls=s3cret":     "one parameter",
		"smtps://u:s3cret@mail.example?starttls=off":  "one parameter",
		"smtp://u:s3cret@mail.example?starttls=off":   "send the password unencrypted",
	} {
		_, err := mail.ParseServer(address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the refusal tells the password: %v", address, err)
		}
	}
	s, err := mail.ParseServer("smtp://u:s3cret@mail.example")
	must.NoError(t, err)
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if strings.Contains(fmt.Sprintf(form, s), "s3cret") {
			t.Errorf("%s tells the password", form)
		}
	}
}

func TestParseFrom(t *testing.T) {
	for raw, want := range map[string]string{
		"assay@example.com":          "<assay@example.com>",
		"Assay <assay@example.com>":  `"Assay" <assay@example.com>`,
		`"Acme, Inc." <a@b.example>`: `"Acme, Inc." <a@b.example>`,
	} {
		if a, err := mail.ParseFrom(raw); err != nil || a.String() != want {
			t.Errorf("%q is %v (%v), want %s", raw, a, err, want)
		}
	}
	for _, raw := range []string{"", "assay", "a@b.example, c@d.example", "Assay <a@b.example>\r\nBcc: x@y.example"} {
		if a, err := mail.ParseFrom(raw); err == nil {
			t.Errorf("%q is taken as %v", raw, a)
		}
	}
}
