package server

import (
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const readyTimeout = 2 * time.Second

// opsHandler is for operators only and has its own listener.
func (s *Server) opsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	if s.app.Settings.Pprof { // without cmdline: flags may hold secrets
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("/debug/pprof/cmdline", http.NotFound)
	}
	return mux
}

// ready reports whether requests can be served now, and what is unreachable otherwise.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	status := http.StatusOK
	parts := make(map[string]string)
	pings := map[string]func(context.Context) error{"database": s.app.Store.Ping, "media": s.app.Media.Ping}
	for name, ping := range pings {
		parts[name] = "ok"
		if err := ping(ctx); err != nil {
			parts[name] = "unreachable"
			status = http.StatusServiceUnavailable
			s.app.Log.WarnContext(ctx, "not ready", "part", name, "error", err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(parts)
}

// quietLog logs what net/http reports about single connections, such as failed TLS handshakes, at debug level.
func quietLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelDebug) }
