package mail

import (
	"bytes"
	"net/mail"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/service"
	gomail "github.com/wneessen/go-mail"
)

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
