package e2e_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestTraces follows an order from the client's own trace over request and transaction to the receiver of its webhook,
// with a collector that reads what OpenTelemetry's receivers do.
func TestTraces(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		collector := newCollector(t)
		settings["otlp-endpoint"] = collector.server.URL
		inbox := newInbox(t)
		heard := make(chan string, 10)
		inner := inbox.server.Config.Handler
		inbox.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			heard <- r.Header.Get("Traceparent")
			inner.ServeHTTP(w, r)
		})
		s := inbox.hook(t, settings)
		inbox.await(t)
		<-heard

		const traceID, callerID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
		var a account
		a.Name = "Acme"
		s.CLI(t, &a.Test, keyArguments(a.Name, "test")...)
		c, err := client.New(baseURL, a.Test.Key, client.WithoutRetry(), client.WithHTTPClient(&http.Client{
			Transport: withHeader{s.transport(t), "Traceparent", "00-" + traceID + "-" + callerID + "-01"},
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
			URL: inbox.server.URL + "/second", Events: []client.WebhookEvent{client.EventOrderOutcome},
		}); err != nil {
			t.Fatal(err)
		}
		inbox.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			heard <- r.Header.Get("Traceparent")
			w.WriteHeader(http.StatusNoContent)
		})
		draft := tote(upload(t, c, 1)[0])
		draft.MockOutcome, draft.ExternalID = client.MockFake, "a-customers-own-words"
		if _, err := c.CreateOrder(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
		told := <-heard
		if code := s.Stop(t); code != 0 { // which sends the last spans
			t.Errorf("exit code %d", code)
		}
		checkTrace(t, collector, traceID, callerID, told)
		for _, secret := range []string{a.Test.Key, draft.ExternalID, inbox.server.URL, "/second", draft.Photos[0].URL} {
			if strings.Contains(collector.text(t), secret) {
				t.Errorf("spans hold %s", secret)
			}
		}
	})
}

// checkTrace finds the request below the caller, the transaction below the request, and the attempt, which the
// receiver was told of.
func checkTrace(t *testing.T, c *collector, traceID, callerID, told string) {
	t.Helper()
	request := c.find(t, traceID, "POST /v1/integrations/orders")
	if got := hex.EncodeToString(request.GetParentSpanId()); got != callerID {
		t.Errorf("the request's parent is %s, want the caller's %s", got, callerID)
	}
	if request.GetKind() != tracepb.Span_SPAN_KIND_SERVER ||
		attributeOf(request.GetAttributes(), "assay.request_id") == "" ||
		attributeOf(request.GetAttributes(), "http.route") != "/v1/integrations/orders" {
		t.Errorf("the request is %v", request)
	}
	transaction := c.find(t, traceID, "CreateOrder")
	attempt := c.find(t, traceID, "webhook order-outcome")
	for _, span := range []*tracepb.Span{transaction, attempt} {
		if string(span.GetParentSpanId()) != string(request.GetSpanId()) {
			t.Errorf("%s is not part of the request", span.GetName())
		}
		if span.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("%s has failed", span.GetName())
		}
	}
	if want := "00-" + traceID + "-" + hex.EncodeToString(attempt.GetSpanId()) + "-01"; told != want {
		t.Errorf("the receiver was told %s, want %s", told, want)
	}
	about := c.resource()
	if attributeOf(about, "service.name") != "assay" || attributeOf(about, "service.version") == "" ||
		attributeOf(about, "service.instance.id") == "" || !strings.Contains(attributeOf(about, "assay.roles"), "deliver") {
		t.Errorf("the resource is %v", about)
	}
}

// withHeader adds a header to every request.
type withHeader struct {
	next        http.RoundTripper
	name, value string
}

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return h.next.RoundTrip(r)
}

// collector takes spans over HTTP as OTLP describes it.
type collector struct {
	server *httptest.Server

	mu   sync.Mutex
	sent []*tracepb.ResourceSpans
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := new(collector)
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collectorpb.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" ||
			r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %s: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
			http.Error(w, "refused", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		c.sent = append(c.sent, request.GetResourceSpans()...)
		c.mu.Unlock()
		answer, err := proto.Marshal(&collectorpb.ExportTraceServiceResponse{})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(c.server.Close)
	return c
}

// find returns the only span of a trace with a name.
func (c *collector) find(t *testing.T, traceID, name string) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*tracepb.Span
	var names []string
	for _, resource := range c.sent {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				names = append(names, span.GetName())
				if span.GetName() == name && hex.EncodeToString(span.GetTraceId()) == traceID {
					found = append(found, span)
				}
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %q in the trace; all spans: %q", len(found), name, names)
	}
	return found[0]
}

func (c *collector) resource() []*commonpb.KeyValue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent[0].GetResource().GetAttributes()
}

// text is all that was sent.
func (c *collector) text(t *testing.T) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := protojson.Marshal(&tracepb.TracesData{ResourceSpans: c.sent})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func attributeOf(list []*commonpb.KeyValue, key string) string {
	for _, pair := range list {
		if pair.GetKey() == key {
			return pair.GetValue().GetStringValue()
		}
	}
	return ""
}
