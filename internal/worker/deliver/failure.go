package deliver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
)

// logText is a cause as the log may hold it. The HTTP client tells the whole URL, whose path and query are often a
// secret of the receiver: only the host is left of it.
func logText(cause error) string {
	text := cause.Error()
	var failed *url.Error
	if errors.As(cause, &failed) && failed.URL != "" {
		host := "the endpoint"
		if u, err := url.Parse(failed.URL); err == nil && u.Host != "" {
			host = u.Host
		}
		text = strings.ReplaceAll(text, failed.URL, host)
	}
	return text
}

// failureOf says what kind of failure an error of the HTTP client is. handshake is the error of the TLS handshake,
// if it came to one that failed.
func failureOf(err, handshake error) webhook.Failure {
	switch reason := netguard.ReasonOf(err); reason {
	case "":
	case netguard.ReasonUnresolvable:
		return webhook.FailureUnresolvable
	default:
		return webhook.FailureUnsafe
	}
	if timedOut(err) {
		return webhook.FailureTimeout
	}
	if isTLS(err) || (handshake != nil && !isTransport(handshake)) {
		return webhook.FailureTLS
	}
	return webhook.FailureConnection
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &network) && network.Timeout())
}

func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch)
}

// isTransport says whether the connection broke, as opposed to the two sides not agreeing.
func isTransport(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.Canceled)
}
