package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// AccessLog logs every request when it has been answered. Queries are not logged: they may hold secrets.
func (p *Responder) AccessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log := p.log()
		if !log.Enabled(r.Context(), slog.LevelInfo) {
			next.ServeHTTP(w, r)
			return
		}
		rec, start, aborted := Record(w), p.now(), true
		defer func() {
			end := p.now()
			line := accessLine{
				time: end, method: r.Method, path: LoggedPath(r), route: RouteFrom(r.Context()), status: rec.Status(),
				bytes: rec.Bytes(), duration: end.Sub(start), requestID: RequestIDFrom(r.Context()), remote: ClientIP(r),
				aborted: aborted,
			}
			if line.status == 0 && !aborted {
				line.status = http.StatusOK // what net/http sends for a handler that wrote nothing
			}
			if line.route == "" {
				line.route = r.Pattern
			}
			if lines, ok := log.Handler().(*lineHandler); ok {
				lines.write(&line)
				return
			}
			log.LogAttrs(r.Context(), slog.LevelInfo, accessMessage, line.attrs()...)
		}()
		next.ServeHTTP(rec, r)
		aborted = false
	})
}

const accessMessage = "request"

// accessLine is a line of the access log.
type accessLine struct {
	time                time.Time
	method, path, route string
	status              int
	bytes               int64
	duration            time.Duration
	requestID, remote   string
	aborted             bool
}

func (l *accessLine) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(
		attrs, slog.String("method", l.method), slog.String("path", l.path), slog.String("route", l.route),
		slog.Int("status", l.status), slog.Int64("bytes", l.bytes), slog.Duration("duration", l.duration),
		slog.String("request_id", l.requestID), slog.String("remote", l.remote),
	)
	if l.aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	return attrs
}

// append encodes the line as slog.JSONHandler does, to which each of its attributes costs more than this costs for all.
func (l *accessLine) append(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = l.time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":"`+accessMessage+`","method":`...)
	b = appendJSONString(b, l.method)
	b = append(b, `,"path":`...)
	b = appendJSONString(b, l.path)
	b = append(b, `,"route":`...)
	b = appendJSONString(b, l.route)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(l.status), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, l.bytes, 10)
	b = append(b, `,"duration":`...)
	b = strconv.AppendInt(b, int64(l.duration), 10)
	b = append(b, `,"request_id":`...)
	b = appendJSONString(b, l.requestID)
	b = append(b, `,"remote":`...)
	b = appendJSONString(b, l.remote)
	if l.aborted {
		b = append(b, `,"aborted":true`...)
	}
	return append(b, "}\n"...)
}

// appendJSONString appends s in quotes.
func appendJSONString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// NewJSONLog returns a logger of JSON lines to w, as slog.NewJSONHandler writes them. The access log takes a shorter
// way to it. FlushLog has to be called before the program ends.
func NewJSONLog(w io.Writer) *slog.Logger {
	lines := newLineWriter(w)
	return slog.New(&lineHandler{Handler: slog.NewJSONHandler(lines, nil), lines: lines})
}

// lineHandler is a slog.Handler for lines without further attributes and groups.
type lineHandler struct {
	slog.Handler
	lines *lineWriter
}

var lineBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Handle writes a line of requests and of everything else without attributes of its own. slog's handler would hold its
// lock while the line is written.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	if err := slog.NewJSONHandler(&line, nil).Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.lines.Write(line.Bytes())
	return err
}

func (h *lineHandler) write(l *accessLine) {
	b, _ := lineBuffers.Get().(*[]byte) // the pool has no other type
	*b = l.append((*b)[:0])
	h.lines.add(*b, true)
	lineBuffers.Put(b)
}
