package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

func verifyFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.keys, "keys", "",
		"`file or URL` of the issuer's keys (default: those of this installation, or of the certificate's host)")
	fs.BoolVar(&inv.allowTest, "allow-test", false, "accept a Test certificate, for which no item was examined")
	fs.BoolVar(&inv.offline, "offline", false, "do not ask the issuer whether the certificate was revoked")
}

// verification is a certificate while it is verified.
type verification struct {
	*certificate.Result
	source string // the file or URL given
	origin string // of the URL that the file or the keys came from; empty: both are local
	keys   certificate.KeySet

	installation bool   // the keys are those of this installation
	status       status // as the issuer has it
}

// status tells what the issuer says of a certificate now.
type status string

const (
	statusValid   status = "valid"
	statusRevoked status = "revoked"
	statusUnknown status = "unknown" // it could not be looked up
)

func verify(ctx context.Context, inv *invocation) error {
	v := &verification{source: inv.args[0], status: statusUnknown}
	if err := v.load(ctx, inv); err != nil {
		return err
	}
	if err := v.checkIssuer(); err != nil {
		return err
	}
	if err := v.lookUp(ctx, inv); err != nil {
		return err
	}
	return v.report(inv)
}

// load reads the file and the keys, and verifies the signature.
func (v *verification) load(ctx context.Context, inv *invocation) error {
	address := certificateAddress(v.source)
	file, err := inv.fetch(ctx, address)
	if err != nil {
		return err
	}
	if isURL(address) {
		v.status = statusValid // unless the file says otherwise: it is as the issuer has it now
	}
	if err := v.loadKeys(ctx, inv, address); err != nil {
		return fmt.Errorf("read the issuer's keys: %w", err)
	}
	v.Result, err = certificate.Verify(file, v.keys)
	return err
}

// loadKeys reads the keys to verify with. Those of a URL have the origin of the certificate.
func (v *verification) loadKeys(ctx context.Context, inv *invocation, address string) (err error) {
	if isURL(address) {
		if v.origin, err = originOf(address); err != nil {
			return err
		}
	}
	source := inv.keys
	switch {
	case source == "" && v.origin != "":
		source = v.origin + keysPath
	case source == "":
		v.installation = true
		return inv.open(ctx, func(app *server.App) error {
			v.keys = app.Service.CertificateKeys()
			return nil
		})
	case isURL(source):
		origin, err := originOf(source)
		if err != nil {
			return err
		}
		if v.origin != "" && !sameOrigin(origin, v.origin) {
			return fmt.Errorf("the certificate is from %s and the keys are from %s: they must have one origin",
				v.origin, origin)
		}
		v.origin = origin
	}
	text, err := inv.fetch(ctx, source)
	if err != nil {
		return err
	}
	v.keys, err = certificate.ParseKeys(text)
	return err
}

// checkIssuer compares where the keys are from with who the certificate says has issued it: anybody can sign that
// somebody else has.
func (v *verification) checkIssuer() error {
	if v.origin == "" {
		return nil
	}
	for _, named := range []string{v.Certificate.Issuer, v.Certificate.URL} {
		if origin, err := originOf(named); err != nil || !sameOrigin(origin, v.origin) {
			return fmt.Errorf("not valid: the certificate says that it was issued by %s, but it is from %s",
				shown(v.Certificate.Issuer), v.origin)
		}
	}
	return nil
}

var errNotIssued = errors.New("not valid: the issuer has no such certificate")

// lookUp finds out whether a certificate in a file was revoked since: in the database of this installation, or at the
// issuer.
func (v *verification) lookUp(ctx context.Context, inv *invocation) error {
	switch {
	case v.Revoked != nil:
		v.status = statusRevoked
	case v.status != statusUnknown:
	case v.installation:
		return inv.open(ctx, func(app *server.App) error {
			row, err := app.Service.Certificate(ctx, v.Certificate.ID)
			if errors.Is(err, service.CertificateNotFound) {
				return errNotIssued
			}
			if err != nil {
				return err
			}
			v.settle(row.Revoked)
			return nil
		})
	case !inv.offline:
		return v.ask(ctx, inv)
	}
	return nil
}

// ask reads the certificate from the address that it names. It is signed, so that this is the issuer's.
func (v *verification) ask(ctx context.Context, inv *invocation) error {
	file, err := inv.fetch(ctx, certificateAddress(v.Certificate.URL))
	if errors.Is(err, errGone) {
		return errNotIssued
	}
	if err != nil {
		return sayf(inv.progress, "The issuer could not be asked: %v\n", err)
	}
	now, err := certificate.Verify(file, v.keys)
	if err != nil || now.Certificate.ID != v.Certificate.ID {
		return sayf(inv.progress, "The answer of %s is not this certificate.\n", v.Certificate.URL)
	}
	v.settle(now.Revoked)
	return nil
}

func (v *verification) settle(revoked *certificate.Revocation) {
	if v.status, v.Revoked = statusValid, revoked; revoked != nil {
		v.status = statusRevoked
	}
}

// report prints the result; one that is not valid is an error.
func (v *verification) report(inv *invocation) error {
	c := v.Certificate
	var refusal error
	state := "valid"
	switch {
	case v.Revoked != nil:
		state, refusal = "revoked", errors.New("the certificate was revoked: "+shown(v.Revoked.Reason))
	case c.Test && !inv.allowTest:
		state, refusal = "test", errors.New("this is a Test certificate, for which no item was examined: "+
			"--allow-test accepts it")
	}
	err := inv.print(struct {
		OK          bool                     `json:"ok"`
		State       string                   `json:"state"`
		Status      status                   `json:"status"`
		KeyID       string                   `json:"key_id"`
		Revoked     *certificate.Revocation  `json:"revoked"`
		Certificate *certificate.Certificate `json:"certificate"`
	}{refusal == nil, state, v.status, v.KeyID, v.Revoked, c},
		"%s: %s, %s, order %s, issued by %s%s%s\n",
		state, c.Outcome, c.Item.Title("en"), c.OrderNumber, c.Issuer, testMark(c.Test), statusMark(v.status))
	if err != nil {
		return err
	}
	if refusal == nil && v.status == statusUnknown {
		return sayf(inv.Stderr,
			"It is not known whether the certificate was revoked since. Check %s for a revocation.\n", c.URL)
	}
	return refusal
}

func testMark(test bool) string {
	if test {
		return " (TEST: no item was examined)"
	}
	return ""
}

func statusMark(s status) string {
	if s == statusUnknown {
		return " (status unknown)"
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

// originOf returns scheme, host and port of a URL, which is https unless it is this machine.
func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("%q is not the URL of a certificate", address)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return "", fmt.Errorf("%s must be https: over %s anybody on the way could change it", u.Host, u.Scheme)
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), nil
}

// sameOrigin reports whether two origins are one. All of this machine are: a server under development listens where its
// --public-url does not say.
func sameOrigin(a, b string) bool {
	if a == b {
		return true
	}
	first, err := url.Parse(a)
	if err != nil {
		return false
	}
	second, err := url.Parse(b)
	return err == nil && loopback(first.Hostname()) && loopback(second.Hostname())
}

const (
	keysPath     = "/.well-known/assay-certificate-keys.json"
	fetchTimeout = 15 * time.Second
	maxFetched   = 1 << 20
)

// errGone is in the error of fetch where there is nothing at the address.
var errGone = errors.New("nothing is there")

// fetch reads a file or a URL. A URL is https unless it is this machine, and does not lead to another origin.
func (inv *invocation) fetch(ctx context.Context, source string) (body []byte, err error) {
	if !isURL(source) {
		return inv.read(source)
	}
	origin, err := originOf(source)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if to, err := originOf(next.URL.String()); err != nil || to != origin {
			return fmt.Errorf("it leads to %s, which is another origin", next.URL.Host)
		}
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	progress.Step(ctx, "reading "+origin)
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%s answers %s: %w", source, answer.Status, errGone)
	default:
		return nil, fmt.Errorf("%s answers %s", source, answer.Status)
	}
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxFetched+1))
	if err == nil && len(body) > maxFetched {
		err = fmt.Errorf("%s is too large", source)
	}
	return body, err
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
