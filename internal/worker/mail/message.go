package mail

import (
	"bytes"
	"net/mail"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/service"
	gomail "github.com/wneessen/go-mail"
)

// compose writes a mail in its wire form. The message id is that of the queue: when a mail has to be sent twice,
// receivers can tell that it is one.
func compose(m *service.OutgoingMail, from *mail.Address, now time.Time) ([]byte, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.Subject(m.Subject)
	msg.SetDateWithValue(now)
	msg.SetMessageIDWithValue(m.ID + "@" + domainOf(from))
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no holiday notes in answer, please
	msg.SetGenHeader(gomail.HeaderContentLang, string(m.Locale))
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	var b bytes.Buffer
	_, err := msg.WriteTo(&b)
	return b.Bytes(), err
}

func domainOf(a *mail.Address) string { return a.Address[strings.LastIndexByte(a.Address, '@')+1:] }
