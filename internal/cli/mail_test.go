package cli_test

import (
	"strings"
	"testing"
)

// TestResetPassword creates reset links by email, with and without a mail server.
func TestResetPassword(t *testing.T) {
	data := t.TempDir()
	if code, _, stderr := run(t, data, nil, "accounts", "create", "--name", "Acme", "--owner",
		"owner@acme.example"); code != 0 {
		t.Fatal(stderr)
	}
	type made struct {
		UserID string `json:"user_id"`
		Email  string `json:"email"`
		Link   string `json:"link"`
		Mailed bool   `json:"mailed"`
	}
	mail := map[string]string{"ASSAY_SMTP_URL": "smtp://u:s3cret@mail.example", "ASSAY_MAIL_FROM": "assay@mail.example"}
	for name, environment := range map[string]map[string]string{"NoMail": nil, "Mail": mail} {
		t.Run(name, func(t *testing.T) {
			var m made
			code, stdout, stderr := run(t, data, environment, "accounts", "reset-password", "--email", "Owner@acme.example",
				"--json")
			if code != 0 {
				t.Fatal(stderr)
			}
			only(t, stdout, &m)
			if m.UserID == "" || m.Email != "owner@acme.example" ||
				!strings.HasPrefix(m.Link, "http://localhost:8080/portal/reset?token=") || m.Mailed != (environment != nil) {
				t.Errorf("the answer is %+v", m)
			}
			code, stdout, _ = run(t, data, environment, "accounts", "reset-password", "--email", "owner@acme.example")
			if code != 0 || !strings.Contains(stdout, "/portal/reset?token=") ||
				strings.Contains(stdout, "being sent by mail") != (environment != nil) {
				t.Errorf("status %d: %s", code, stdout)
			}
		})
	}
	for email, want := range map[string]string{
		"nobody@acme.example": `no account user with the email "nobody@acme.example"`,
		"nonsense":            "is not an email address",
	} {
		code, stdout, stderr := run(t, data, nil, "accounts", "reset-password", "--email", email)
		if code != 1 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, out %q, err %q", email, code, stdout, stderr)
		}
	}
}

// TestMailSettings checks that all wrong mail settings are reported at once, without the password.
func TestMailSettings(t *testing.T) {
	for address, want := range map[string]string{
		"smtp://u:s3cret@":                          "--smtp-url names no host",
		"http://u:s3cret@mail.example":              "--smtp-url must begin with smtp://",
		"smtp://u:s3cret%zz@mail.example":           "--smtp-url cannot be read",
		"smtp://u:s3cret@mail.example?starttls=off": "--smtp-url would send the password unencrypted",
	} {
		code, stdout, stderr := run(t, t.TempDir(), map[string]string{"ASSAY_SMTP_URL": address}, "keys", "list",
			"--account", "Acme")
		if code != 1 || stdout != "" || !strings.Contains(stderr, want) ||
			!strings.Contains(stderr, "--mail-from is required") {
			t.Errorf("%s: status %d, out %q, err %q", address, code, stdout, stderr)
		}
		if strings.Contains(stderr, "s3cret") {
			t.Errorf("%s: the password is told: %s", address, stderr)
		}
	}
	if _, _, stderr := run(t, t.TempDir(), map[string]string{
		"ASSAY_SMTP_URL": "smtp://u:s3cret@mail.example",
	}, "serve", "--help"); strings.Contains(stderr, "s3cret") {
		t.Error("the help tells the password")
	}
}
