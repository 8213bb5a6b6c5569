package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/worker/deliver"
)

// checkServe refuses addresses and files that a server could not begin with.
func (s *Settings) checkServe() error {
	var problems []error
	refuse := func(name string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("--%s: %w", name, err))
		}
	}
	for _, l := range []struct{ name, address string }{
		{"listen", s.Listen}, {"tls-listen", s.TLSListen}, {"ops-listen", s.OpsListen},
	} {
		if l.address == "" {
			continue
		}
		_, port, err := net.SplitHostPort(l.address)
		if err == nil {
			_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
		}
		refuse(l.name, err)
	}
	if s.TLSListen != "" && s.TLSDomain == "" && s.TLSCert != "" && s.TLSKey != "" {
		_, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
		refuse("tls-cert", err)
	}
	for name, file := range map[string]string{"webhook-ca-file": s.WebhookCAFile, "smtp-ca-file": s.SMTPCAFile} {
		if file != "" {
			_, err := deliver.LoadCAs(file)
			refuse(name, err)
		}
	}
	return errors.Join(problems...)
}

// tryListen binds the addresses for a moment: where one is taken, no installation is begun for nothing.
func (s *Settings) tryListen(ctx context.Context) (err error) {
	addresses := map[string]string{"ops-listen": s.OpsListen}
	if s.Roles.Has(RoleAPI) || s.Roles.Has(RoleDesk) {
		addresses["listen"], addresses["tls-listen"] = s.Listen, s.TLSListen
	}
	for name, address := range addresses {
		if address == "" {
			continue
		}
		l, failed := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if failed == nil {
			failed = l.Close()
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("--%s: %w", name, failed))
		}
	}
	return err
}

// listen binds every listener that is on.
func (s *Server) listen(ctx context.Context, pages http.Handler) error {
	set := &s.app.Settings
	if !set.Roles.Has(RoleAPI) && !set.Roles.Has(RoleDesk) {
		return s.add(ctx, "ops-listen", set.OpsListen, s.opsHandler(), nil)
	}
	if err := s.add(ctx, "listen", set.Listen, pages, nil); err != nil {
		return err
	}
	if set.TLSListen != "" {
		config, err := set.tlsConfig(time.Now())
		if err != nil {
			return err
		}
		if err := s.add(ctx, "tls-listen", set.TLSListen, pages, config); err != nil {
			return err
		}
	}
	return s.add(ctx, "ops-listen", set.OpsListen, s.opsHandler(), nil)
}

func (s *Server) add(ctx context.Context, name, address string, h http.Handler, config *tls.Config) error {
	if address == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--%s: %w", name, err)
	}
	limits := s.clients
	if name == "ops-listen" {
		limits = newConnections(opsConnections, 0, nil, s.app.Log)
	}
	s.listener[name] = &listener{
		Listener: l, connections: limits, plain: config == nil, progress: s.app.Settings.writeTimeLimit,
	}
	s.servers = append(s.servers, s.app.Settings.httpServer(s.sendAway(h), config, s.app.Log))
	return nil
}

// sendAway ends connections with their next answer while the node leaves, so that no client is cut off that would send
// its next request when the listeners close. On HTTP/2 the header becomes a GOAWAY. Idle connections stay until then:
// closing them now could cut off a request that is on its way.
func (s *Server) sendAway(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// httpServer returns a server on which nothing that a client does slowly lasts for ever.
func (s *Settings) httpServer(h http.Handler, config *tls.Config, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: httpx.LimitBodies(s.bodyTimeLimit, httpx.LimitWrites(s.writeTimeLimit, h)), TLSConfig: config,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: quietLog(log),
		ConnContext: httpx.ConnContext,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			WriteByteTimeout: s.writeTimeLimit,
		},
	}
}

// Addresses is the line that tells where the server listens.
func (s *Server) Addresses() string {
	address := func(name string) string {
		if l, ok := s.listener[name]; ok {
			return l.Addr().String()
		}
		return "-"
	}
	return fmt.Sprintf("listening http=%s tls=%s ops=%s", address("listen"), address("tls-listen"), address("ops-listen"))
}

// BaseURL is where this server answers plain HTTP, or TLS when plain HTTP is off.
func (s *Server) BaseURL() string {
	if l, ok := s.listener["listen"]; ok {
		return "http://" + l.Addr().String()
	}
	if l, ok := s.listener["tls-listen"]; ok {
		return "https://" + l.Addr().String()
	}
	return s.app.Settings.PublicURL
}
