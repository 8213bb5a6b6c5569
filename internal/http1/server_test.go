package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/http1"
	"github.com/assayhq/assay/internal/testkit/child"
)

// frontConn is a connection of TCP that can be given away.
type frontConn struct {
	net.Conn
	unread []byte
}

func (c *frontConn) Unread(b []byte) { c.unread = b }

func (c *frontConn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

func (c *frontConn) WriteBuffers(parts *net.Buffers) (int64, error) { return parts.WriteTo(c.Conn) }

func (c *frontConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// frontListener accepts connections that can be given away.
type frontListener struct{ net.Listener }

func (l frontListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &frontConn{Conn: c}, nil
}

const takenPrefix = "/taken/"

func takes(path string) bool { return strings.HasPrefix(path, takenPrefix) }

// served is a running server.
type served struct {
	*http1.Server
	address string
	log     child.Output
}

// start starts a server that takes requests for some paths, or, where front is false, one of net/http alone.
func start(t testing.TB, front bool, h http.Handler, configure ...func(*http1.Server)) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{address: l.Addr().String()}
	s.Server = &http1.Server{
		Takes:  takes,
		Server: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(&s.log, "", 0)},
	}
	for _, f := range configure {
		f(s.Server)
	}
	if front {
		l = frontListener{l}
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != http.ErrServerClosed { //nolint:errorlint // itself
			t.Error(err)
		}
	})
	return s
}

func (s *served) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// bySelf reports whether a response goes the short way.
func bySelf(w http.ResponseWriter) bool {
	_, flushes := w.(http.Flusher)
	return !flushes
}

// echo tells what a handler sees of a request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	text, _ := json.Marshal(map[string]any{
		"method": r.Method, "url": r.URL, "escaped": r.URL.EscapedPath(), "proto": r.Proto, "major": r.ProtoMajor,
		"minor": r.ProtoMinor, "header": r.Header, "length": r.ContentLength, "transfer": r.TransferEncoding,
		"close": r.Close, "host": r.Host, "uri": r.RequestURI, "trailer": r.Trailer, "body": string(body),
		"error": fmt.Sprint(err), "no body": r.Body == http.NoBody, "remote": r.RemoteAddr != "",
		"server": r.Context().Value(http.ServerContextKey) != nil,
		"local":  fmt.Sprint(r.Context().Value(http.LocalAddrContextKey)) != "",
	})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = w.Write(text)
}

// last is a request after which the server closes the connection.
const last = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

// converse sends parts, and the last request, and reads all answers.
func converse(t testing.TB, s *served, parts ...string) (answers []answer) {
	t.Helper()
	c := s.dial(t)
	go func() {
		for _, part := range append(parts, last) {
			_, _ = io.WriteString(c, part) // a connection that has been closed is seen below
			time.Sleep(time.Millisecond)   // so that the parts arrive apart: what is answered must not depend on it
		}
	}()
	in := bufio.NewReader(c)
	for {
		asked := new(http.Request)
		if len(answers) == 0 && len(parts) > 0 {
			asked.Method, _, _ = strings.Cut(parts[0], " ") // the answer to HEAD has no body
		}
		response, err := http.ReadResponse(in, asked)
		if err != nil {
			return answers
		}
		one := answerOf(response)
		one.header.Del("Date")
		if one.broken || one.status == http.StatusBadRequest { // how much arrives depends on what is sent meanwhile
			one.body, one.broken = "", true
		}
		answers = append(answers, one)
	}
}

func get(target string, fields ...string) string {
	return "GET " + target + " HTTP/1.1\r\n" + strings.Join(append(fields, "Host: h"), "\r\n") + "\r\n\r\n"
}

func postText(target, body string, fields ...string) string {
	fields = append(fields, "Host: h", fmt.Sprintf("Content-Length: %d", len(body)))
	return "POST " + target + " HTTP/1.1\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n" + body
}

func chunked(fields ...string) string {
	fields = append(fields, "Host: h", "Transfer-Encoding: chunked")
	return "POST /taken/a HTTP/1.1\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
}

// conversations are requests as bytes on the wire, ordinary and not.
var conversations = map[string][]string{
	"Get":              {get("/taken/a")},
	"Query":            {get("/taken/a?b=c&d=%41+e"), get("/taken/a?"), get("/taken/?a?b#c")},
	"Escaped":          {get("/taken/%41%2Fb"), get("/taken/a%zz"), get("/taken/a")},
	"Unescaped":        {get("/taken/a;b,c:d@e!$&'()*+=~|^`{}\"<>[]\\")},
	"BeyondASCII":      {get("/taken/é?ü"), get("/taken/a", "X-A: é")},
	"Dots":             {get("/taken/../a/./b//c")},
	"Absolute":         {get("http://other/taken/a")},
	"Other":            {get("/other"), get("/taken/a")},
	"KeepsAlive":       {get("/taken/a", "Connection: keep-alive"), get("/taken/b", "connection: Keep-Alive")},
	"Closes":           {get("/taken/a", "Connection: close"), get("/taken/b")},
	"Pipelined":        {get("/taken/a") + postText("/taken/b", "body") + get("/other") + get("/taken/c")},
	"Post":             {postText("/taken/a", `{"a":1}`), postText("/taken/b", "")},
	"PostInParts":      {"POST /taken/a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n", "abc", "def", get("/taken/b")},
	"HeadInParts":      {"GET /taken/a HT", "TP/1.1\r\nHost: h\r\n", "\r\n" + get("/taken/b")},
	"ByBytes":          strings.Split(postText("/taken/a", "body"), ""),
	"LongBody":         {postText("/taken/a", strings.Repeat("long ", 100_000)), get("/taken/b")},
	"BodyBeyondBuffer": {postText("/taken/a", strings.Repeat("x", 4096)), postText("/taken/a", strings.Repeat("y", 3950))},
	"LongHeader":       {get("/taken/a", "X-Long: "+strings.Repeat("x", 5000)), get("/taken/b")},
	"ManyHeaders":      {get("/taken/a", strings.Fields(strings.Repeat("X-A:1 ", 60))...)},
	"SameHeaders":      {get("/taken/a", "X-A: 1", "x-a: 2", "X-B:", "X-A:\t3 \t")},
	"Names":            {get("/taken/a", "authorization: Bearer x", "x-RATE-limit: 1", "!#$%&'*+-.^_`|~: 1")},
	"BadName":          {get("/taken/a", "X A: 1")},
	"SpaceBeforeColon": {get("/taken/a", "X-A : 1")},
	"NoName":           {get("/taken/a", ": 1")},
	"NoColon":          {get("/taken/a", "X-A")},
	"Folded":           {get("/taken/a", "X-A: 1\r\n 2")},
	"Control":          {get("/taken/a", "X-A: \x01")},
	"Delete":           {get("/taken/a", "X-A: \x7f")},
	"NUL":              {get("/taken/a", "X-A: a\x00b")},
	"CarriageReturn":   {get("/taken/a", "X-A: a\rb")},
	"LineFeed":         {get("/taken/a", "X-A: a\nX-B: b")},
	"LineFeeds":        {"GET /taken/a HTTP/1.1\nHost: h\n\n", get("/taken/b")},
	"LineFeedInLine":   {"GET /taken/a HTTP/1.1\nX-A: 1\r\nHost: h\r\n\r\n"},
	"EmptyLineFirst":   {"\r\n" + get("/taken/a")},
	"Expect":           {postText("/taken/a", "body", "Expect: 100-continue")},
	"ExpectOther":      {postText("/taken/a", "body", "Expect: miracles")},
	"Chunked":          {chunked(), get("/taken/b")},
	"ChunkedAndLength": {chunked("Content-Length: 3")},
	"Trailer":          {strings.Replace(chunked("Trailer: T"), "0\r\n", "0\r\nT: 1\r\n", 1)},
	"TwoLengths":       {postText("/taken/a", "body", "Content-Length: 4")},
	"OtherLengths":     {postText("/taken/a", "body", "Content-Length: 5")},
	"ListOfLengths":    {get("/taken/a", "Content-Length: 4, 4") + "body"},
	"SignedLength":     {get("/taken/a", "Content-Length: +4") + "body"},
	"NegativeLength":   {get("/taken/a", "Content-Length: -4") + "body"},
	"NoLength":         {get("/taken/a", "Content-Length:")},
	"HugeLength":       {get("/taken/a", "Content-Length: 99999999999999999999")},
	"HexLength":        {get("/taken/a", "Content-Length: 0x4") + "body"},
	"LengthWithZeros":  {get("/taken/a", "Content-Length: 004") + "body", get("/taken/b")},
	"GetWithBody":      {get("/taken/a", "Content-Length: 4") + "body", get("/taken/b")},
	"PostWithout":      {"POST /taken/a HTTP/1.1\r\nHost: h\r\n\r\n", get("/taken/b")},
	"NoHost":           {"GET /taken/a HTTP/1.1\r\n\r\n"},
	"TwoHosts":         {get("/taken/a", "Host: other")},
	"EmptyHost":        {"GET /taken/a HTTP/1.1\r\nHost:\r\n\r\n"},
	"BadHost":          {"GET /taken/a HTTP/1.1\r\nHost: a b\r\n\r\n"},
	"OddHost":          {"GET /taken/a HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET /taken/a HTTP/1.1\r\nHost: a/b\r\n\r\n"},
	"Pragma":           {get("/taken/a", "Pragma: no-cache")},
	"Upgrade":          {get("/taken/a", "Connection: upgrade", "Upgrade: h2c"), get("/taken/b")},
	"Old":              {"GET /taken/a HTTP/1.0\r\n\r\n"},
	"OldKeptAlive":     {"GET /taken/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", get("/taken/b")},
	"Newer":            {"GET /taken/a HTTP/2.0\r\nHost: h\r\n\r\n"},
	"Preface":          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	"OddProto":         {"GET /taken/a HTTP/1.1 \r\nHost: h\r\n\r\n"},
	"TwoSpaces":        {"GET  /taken/a HTTP/1.1\r\nHost: h\r\n\r\n"},
	"NoProto":          {"GET /taken/a\r\n\r\n"},
	"Head":             {"HEAD /taken/a HTTP/1.1\r\nHost: h\r\n\r\n"},
	"Methods": {
		"PATCH /taken/a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", "DELETE /taken/a HTTP/1.1\r\nHost: h\r\n\r\n",
		"PUT /taken/a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", "get /taken/a HTTP/1.1\r\nHost: h\r\n\r\n",
	},
	"Garbage": {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n"},
	"Nothing": {""},
}

// TestServer_Requests compares what handlers see of requests, and what clients get, with what net/http makes of them.
func TestServer_Requests(t *testing.T) {
	t.Parallel()
	own, other := start(t, true, http.HandlerFunc(echo)), start(t, false, http.HandlerFunc(echo))
	for name, parts := range conversations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sent := range [][]string{parts, {strings.Join(parts, "")}} {
				want, got := converse(t, other, sent...), converse(t, own, sent...)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%.200q\ngot  %.2000s\nwant %.2000s", sent, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
				}
			}
		})
	}
}

// TestServer_Takes checks which requests go the short way, and that one that does not takes its connection along.
func TestServer_Takes(t *testing.T) {
	t.Parallel()
	tell := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, bySelf(w))
	})
	s := start(t, true, tell)
	for name, tt := range map[string]struct {
		sent []string
		want []bool // of each, and of the last
	}{
		"Plain": {
			[]string{get("/taken/a?b=%20c", "Connection: keep-alive"), get("/taken/b%20c"), postText("/taken/a", "body")},
			[]bool{true, true, true, false},
		},
		"LongBody": {
			[]string{postText("/taken/a", strings.Repeat("x", 100_000)), get("/taken/b")}, []bool{true, true, false},
		},
		"Other":     {[]string{get("/taken/a"), get("/other"), get("/taken/b")}, []bool{true, false, false, false}},
		"Chunked":   {[]string{get("/taken/a"), chunked(), get("/taken/b")}, []bool{true, false, false, false}},
		"Pipelined": {[]string{get("/taken/a") + get("/taken/b") + get("/other")}, []bool{true, true, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []bool
			for _, a := range converse(t, s, tt.sent...) {
				got = append(got, a.body == "true")
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("taken %v, want %v", got, tt.want)
			}
		})
	}
}

// answering are handlers, each of which answers in another way.
var answering = map[string]http.HandlerFunc{
	"Nothing": func(http.ResponseWriter, *http.Request) {},
	"Status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
	"Unknown": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(799) },
	"Error":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) },
	"Twice": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("X-Late", "1")
		_, _ = io.WriteString(w, "text")
	},
	"NoContent": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusNoContent)
		if _, err := io.WriteString(w, "text"); err != http.ErrBodyNotAllowed { //nolint:errorlint // itself
			panic(fmt.Sprint("error ", err))
		}
	},
	"NotModified": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusNotModified)
	},
	"Typed":   func(w http.ResponseWriter, _ *http.Request) { typed(w, 4, "te", "xt") },
	"Long":    func(w http.ResponseWriter, _ *http.Request) { typed(w, 200_000, strings.Repeat("0123456789", 20_000)) },
	"InParts": func(w http.ResponseWriter, _ *http.Request) { typed(w, 9_004, "text", strings.Repeat("012", 3_000)) },
	"TooShort": func(w http.ResponseWriter, _ *http.Request) {
		typed(w, 10, "text")
	},
	"TooLong": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "2")
		if _, err := io.WriteString(w, "text"); err != http.ErrContentLength { //nolint:errorlint // itself
			panic(fmt.Sprint("error ", err))
		}
	},
	"BadLength": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "-2")
		_, _ = io.WriteString(w, "text")
	},
	"Sniffed": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
	"LongWithoutLength": func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = io.WriteString(w, strings.Repeat("text ", 100))
		}
	},
	"Injection": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "1\r\nX-B: 2\nX-C: 3")
		w.Header()["X-D"] = []string{"1", "2"}
	},
	"Dated": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Date", "never") },
	"Closes": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		typed(w, 4, "text")
	},
	"Panics": func(http.ResponseWriter, *http.Request) { panic("on purpose") },
	"PanicsMidway": func(w http.ResponseWriter, _ *http.Request) {
		typed(w, 9_000, strings.Repeat("x", 5000))
		panic("on purpose")
	},
	"Aborts":        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"LeavesTheBody": func(w http.ResponseWriter, _ *http.Request) { typed(w, 4, "text") },
	"ClosesTheBody": func(w http.ResponseWriter, r *http.Request) {
		_ = r.Body.Close()
		_, err := r.Body.Read(make([]byte, 1))
		_, _ = fmt.Fprint(w, err)
	},
}

func typed(w http.ResponseWriter, length int, parts ...string) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Content-Length", fmt.Sprint(length))
	for _, part := range parts {
		_, _ = io.WriteString(w, part)
	}
}

// TestServer_Answers compares what clients get of answers with what they get of net/http.
func TestServer_Answers(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := answering[strings.TrimPrefix(r.URL.Path, takenPrefix)]; h != nil {
			h(w, r)
			return
		}
		typed(w, 4, "next")
	})
	own, other := start(t, true, h), start(t, false, h)
	for name := range answering {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, body := range []string{"", "body", strings.Repeat("x", 100_000)} {
				sent := []string{postText(takenPrefix+name, body), get(takenPrefix)}
				want, got := converse(t, other, sent...), converse(t, own, sent...)
				for _, a := range append(want, got...) { // we always know the length
					a.header.Del("Content-Length")
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("\ngot  %.500s\nwant %.500s", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
				}
			}
		})
	}
	t.Run("Log", func(t *testing.T) {
		for name, want := range map[string]string{"Panics": "http: panic serving 127.0.0.1", "Aborts": ""} {
			s := start(t, true, answering[name])
			converse(t, s, get(takenPrefix))
			if got := s.log.String(); want == "" && got != "" || !strings.HasPrefix(got, want) {
				t.Errorf("%s: log %q, want %q", name, got, want)
			}
		}
	})
}

// TestServer_TooLongToRead checks that a client that still sends what nobody reads gets the answer.
func TestServer_TooLongToRead(t *testing.T) {
	t.Parallel()
	s := start(t, true, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { typed(w, 4, "text") }))
	c := s.dial(t)
	go func() { _, _ = io.WriteString(c, postText("/taken/a", strings.Repeat("x", 20<<20))) }()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "text" || !response.Close {
		t.Errorf("got %q, %v, close %v", body, err, response.Close)
	}
}

// TestServer_ClientGone checks that a handler that takes long learns that its client has gone, and none does because
// the client has sent its next request.
func TestServer_ClientGone(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error)
	s := start(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		limit := 20 * time.Second
		if r.URL.Path == "/taken/short" {
			limit = 300 * time.Millisecond
		}
		select {
		case <-r.Context().Done():
			ended <- r.Context().Err()
		case <-time.After(limit):
			ended <- nil
		}
		_, _ = fmt.Fprint(w, bySelf(w))
	}))
	for _, request := range []string{get("/taken/a"), postText("/taken/a", "body")} {
		c := s.dial(t)
		if _, err := io.WriteString(c, get("/taken/short")); err != nil {
			t.Fatal(err)
		}
		<-begun
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("with the next request on its way: %v", err)
		}
		<-begun
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != context.Canceled { //nolint:errorlint // itself
			t.Errorf("a client that has gone: %v", err)
		}
	}
}

// FuzzRequest compares requests that are taken with what net/http reads.
func FuzzRequest(f *testing.F) {
	for _, parts := range conversations {
		f.Add([]byte(strings.Join(parts, "")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, body, ok := http1.ParseRequest(b, takes)
		if !ok {
			return
		}
		want, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			t.Fatalf("taken, but net/http says %v", err)
		}
		wantBody, _ := io.ReadAll(want.Body)
		if !bytes.HasPrefix(wantBody, body) || len(want.TransferEncoding) > 0 || want.Close || want.Trailer != nil {
			t.Errorf("body %q, want %q; %+v", body, wantBody, want)
		}
		for name, pair := range map[string][2]any{
			"method": {got.Method, want.Method}, "url": {*got.URL, *want.URL}, "header": {got.Header, want.Header},
			"host": {got.Host, want.Host}, "length": {got.ContentLength, want.ContentLength},
			"uri": {got.RequestURI, want.RequestURI}, "proto": {got.Proto, want.Proto},
			"none": {got.Body == http.NoBody, want.Body == http.NoBody},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%s %#v, want %#v", name, pair[0], pair[1])
			}
		}
	})
}
