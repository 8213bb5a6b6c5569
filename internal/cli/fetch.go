package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/progress"
)

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
