package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/assayhq/assay/internal/pause"
)

// uploader sends spans to a collector: OTLP over HTTP. It takes the place of otlptracehttp below the official exporter,
// because that one links gRPC and its gateway into the program, 2 MB that no HTTP needs.
type uploader struct {
	address string
	headers http.Header
	client  *http.Client
}

const (
	uploadTimeout = 10 * time.Second
	uploadTries   = 3
	uploadPause   = time.Second
)

// newUploader reads headers for the collector from where OpenTelemetry has them.
func newUploader(address string) (*uploader, error) {
	headers := http.Header{"Content-Type": {"application/x-protobuf"}}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(variable), ",") {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			name, value, ok := strings.Cut(pair, "=")
			value, err := url.PathUnescape(strings.TrimSpace(value))
			if !ok || err != nil {
				return nil, fmt.Errorf("%s is not a list such as name=value,name=value", variable)
			}
			headers.Set(strings.TrimSpace(name), value)
		}
	}
	return &uploader{address: address, headers: headers, client: &http.Client{Timeout: uploadTimeout}}, nil
}

// Start implements otlptrace.Client.
func (u *uploader) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (u *uploader) Stop(context.Context) error {
	u.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. TracesData has the wire form of the collector's request.
func (u *uploader) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		again, err := u.post(ctx, body)
		if err == nil || !again || try == uploadTries {
			return err
		}
		if pause.For(ctx, uploadPause*time.Duration(try)) != nil {
			return err
		}
	}
}

// post sends a request; again says whether a failed one may be repeated.
func (u *uploader) post(ctx context.Context, body []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header = u.headers.Clone()
	response, err := u.client.Do(request)
	if err != nil {
		return true, err
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	_ = response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the collector says %s", response.Status)
}
