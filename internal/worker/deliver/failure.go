package deliver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/http1"
	"github.com/assayhq/assay/internal/netguard"
)

// logText returns the text of a cause for the log. Errors of package url contain the URL, whose path and query may be
// secret: it is replaced by the host.
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

// failureOf classifies an error of the transport.
func failureOf(err error) webhook.Failure {
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
	if isTLS(err) {
		return webhook.FailureTLS
	}
	return webhook.FailureConnection
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &network) && network.Timeout())
}

// isTLS reports whether TLS has failed, other than by the end of the connection.
func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &record) {
		return true
	}
	_, ok := errors.AsType[*http1.HandshakeError](err)
	return ok && !isTransport(err)
}

// isTransport reports whether the connection broke, as opposed to a TLS failure.
func isTransport(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled)
}
