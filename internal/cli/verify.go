package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/server"
)

const (
	keysPath     = "/.well-known/assay-certificate-keys.json"
	fetchTimeout = 15 * time.Second
	maxFetched   = 1 << 20
)

func verifyCommand() *command {
	return &command{
		name:    "verify",
		args:    "FILE|URL [--keys FILE|URL]",
		nargs:   1,
		about:   "verify a certificate; a file is verified offline, with the keys of this installation or --keys",
		example: "assay verify https://assay.example/c/AS-7K3QX0ZS",
		flags: func(fs *flag.FlagSet, inv *invocation) {
			fs.StringVar(&inv.keys, "keys", "",
				"`file or URL` of the issuer's keys (default: those of this installation, or of the certificate's host)")
		},
		run: verify,
	}
}

func verify(ctx context.Context, inv *invocation) error {
	file, err := inv.fetch(ctx, certificateAddress(inv.args[0]))
	if err != nil {
		return err
	}
	keys, err := inv.certificateKeys(ctx)
	if err != nil {
		return fmt.Errorf("read the issuer's keys: %w", err)
	}
	result, err := certificate.Verify(file, keys)
	if err != nil {
		return err
	}
	state := "valid"
	if result.Revoked != nil {
		state = "revoked"
	}
	c := result.Certificate
	err = inv.print(struct {
		OK          bool                     `json:"ok"`
		State       string                   `json:"state"`
		KeyID       string                   `json:"key_id"`
		Revoked     *certificate.Revocation  `json:"revoked"`
		Certificate *certificate.Certificate `json:"certificate"`
	}{result.Revoked == nil, state, result.KeyID, result.Revoked, c},
		"%s: %s, %s, order %s, issued by %s%s\n",
		state, c.Outcome, c.Item.Title("en"), c.OrderNumber, c.Issuer, testMark(c.Test))
	if err != nil {
		return err
	}
	if result.Revoked != nil {
		return errors.New("the certificate was revoked: " + result.Revoked.Reason)
	}
	if !isURL(inv.args[0]) { // it may have been revoked since the file was saved
		_, err = fmt.Fprintf(inv.Stderr,
			"The file was verified offline. Check %s for a revocation.\n", c.URL)
	}
	return err
}

func testMark(test bool) string {
	if test {
		return " (TEST: no item was examined)"
	}
	return ""
}

// certificateAddress returns the address of the JSON file for that of the certificate's page or PDF.
func certificateAddress(s string) string {
	if isURL(s) && !strings.HasSuffix(s, ".json") {
		return strings.TrimSuffix(s, ".pdf") + ".json"
	}
	return s
}

func isURL(s string) bool { return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") }

// certificateKeys returns the keys to verify with.
func (inv *invocation) certificateKeys(ctx context.Context) (keys certificate.KeySet, err error) {
	source := inv.keys
	if source == "" && isURL(inv.args[0]) {
		u, err := url.Parse(inv.args[0])
		if err != nil {
			return nil, err
		}
		source = u.Scheme + "://" + u.Host + keysPath
	}
	if source == "" {
		err := inv.open(ctx, func(app *server.App) (err error) {
			keys, err = app.Service.CertificateKeys(ctx)
			return err
		})
		return keys, err
	}
	text, err := inv.fetch(ctx, source)
	if err != nil {
		return nil, err
	}
	return certificate.ParseKeys(text)
}

// fetch reads a file or a URL given on the command line.
func (inv *invocation) fetch(ctx context.Context, source string) (body []byte, err error) {
	if !isURL(source) {
		return inv.read(source)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", source, answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, maxFetched))
}
