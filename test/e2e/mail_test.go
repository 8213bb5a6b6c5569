package e2e_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/smtptest"
)

// TestMail creates a reset link by command and another one in the portal; the server sends both, over STARTTLS with
// a password, and does not log addresses or links.
func TestMail(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		server := smtptest.Start(t, smtptest.Options{Auth: true})
		settings["smtp-url"], settings["smtp-ca-file"], settings["mail-from"] = server.URL(), server.CAFile,
			"Assay <assay@mail.test>"
		s := start(t, settings)
		s.CLI(t, new(map[string]string), "accounts", "create", "--name", "Acme", "--owner", "owner@acme.example", "--locale",
			"ja")
		var made struct {
			UserID string `json:"user_id"`
			Email  string `json:"email"`
			Link   string `json:"link"`
			Mailed bool   `json:"mailed"`
		}
		s.CLI(t, &made, "accounts", "reset-password", "--email", "Owner@acme.example")
		if !uuidPattern.MatchString(made.UserID) || made.Email != "owner@acme.example" || !made.Mailed {
			t.Errorf("the answer is %+v", made)
		}
		m := server.Await(t, "owner@acme.example", "新しいパスワードの設定")
		if m.Link() != made.Link || !m.Encrypted || !strings.Contains(m.Text, "サービスの運営者") {
			t.Errorf("encrypted: %v, the link is not %s:\n%s", m.Encrypted, made.Link, m.Text)
		}

		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("/portal/forgot"),
			strings.NewReader(url.Values{"email": {"owner@acme.example"}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if page, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK ||
			!strings.Contains(string(page), "we have sent a mail with a link") {
			t.Errorf("status %d (%v):\n%s", answer.StatusCode, err, page)
		}
		asked := server.Await(t, "owner@acme.example", "Choose a new password")

		if code := s.Stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
		for what, secret := range map[string]string{
			"address":          "owner@acme.example",
			"link":             tokenOf(made.Link),
			"other link":       tokenOf(asked.Link()),
			"password":         smtptest.Password,
			"encoded password": url.QueryEscape(smtptest.Password),
		} {
			if strings.Contains(s.Stderr(), secret) {
				t.Errorf("the log tells the %s:\n%s", what, s.Stderr())
			}
		}
	})
}

func tokenOf(link string) string {
	_, token, _ := strings.Cut(link, "token=")
	return token
}
