package deliver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
)

// logText returns the text of a cause for the log. Errors of the HTTP client contain the URL, whose path and query
// may be secret: it is replaced by the host.
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

// handshake is how the TLS handshake of a request has failed, if it has.
type handshake struct{ failed atomic.Pointer[error] }

// watch returns the context for a request whose handshake is looked at.
func (h *handshake) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
		if err != nil {
			h.failed.Store(&err)
		}
	}})
}

func (h *handshake) failure() error {
	if p := h.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// failureOf classifies an error of the HTTP client. handshake is the error of the TLS handshake, if it failed.
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

// isTransport reports whether the connection broke, as opposed to a TLS failure.
func isTransport(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled)
}
