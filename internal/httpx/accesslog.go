package httpx

import (
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/jsonlog"
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
			if handler, ok := log.Handler().(*jsonlog.Handler); ok {
				line.writeTo(handler)
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
	b = wire.AppendString(b, l.method)
	b = append(b, `,"path":`...)
	b = wire.AppendString(b, l.path)
	b = append(b, `,"route":`...)
	b = wire.AppendString(b, l.route)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(l.status), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, l.bytes, 10)
	b = append(b, `,"duration":`...)
	b = strconv.AppendInt(b, int64(l.duration), 10)
	b = append(b, `,"request_id":`...)
	b = wire.AppendString(b, l.requestID)
	b = append(b, `,"remote":`...)
	b = wire.AppendString(b, l.remote)
	if l.aborted {
		b = append(b, `,"aborted":true`...)
	}
	return append(b, "}\n"...)
}

var lineBuffers = sync.Pool{New: func() any { return new([]byte) }}

// writeTo writes the line by the shorter way that the log of the program has.
func (l *accessLine) writeTo(log *jsonlog.Handler) {
	b, _ := lineBuffers.Get().(*[]byte) // the pool has no other type
	*b = l.append((*b)[:0])
	log.WriteBatched(*b)
	lineBuffers.Put(b)
}
