package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/http1"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/netguard"
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
	for _, file := range []named[string]{{"webhook-ca-file", s.WebhookCAFile}, {"smtp-ca-file", s.SMTPCAFile}} {
		if file.value != "" {
			_, err := netguard.LoadCAs(file.value)
			refuse(file.name, err)
		}
	}
	return errors.Join(problems...)
}

// tryListen binds the addresses for a moment: where one is taken, no installation is begun for nothing.
func (s *Settings) tryListen(ctx context.Context) (err error) {
	addresses := []named[string]{{"ops-listen", s.OpsListen}}
	if s.Roles.Has(RoleAPI) || s.Roles.Has(RoleDesk) {
		addresses = append(addresses, named[string]{"listen", s.Listen}, named[string]{"tls-listen", s.TLSListen})
	}
	for _, address := range addresses {
		if address.value == "" {
			continue
		}
		l, failed := new(net.ListenConfig).Listen(ctx, "tcp", address.value)
		if failed == nil {
			failed = l.Close()
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("--%s: %w", address.name, failed))
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
		config, files, err := set.tlsConfig(s.app.Config.Now, s.app.Log)
		if err != nil {
			return err
		}
		s.certificate = files
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
func (s *Settings) httpServer(h http.Handler, config *tls.Config, log *slog.Logger) *http1.Server {
	takes := func(path string) bool { return below(path, integration.Prefix) }
	return &http1.Server{Takes: takes, Server: &http.Server{
		Handler: httpx.LimitBodies(s.bodyTimeLimit, httpx.LimitWrites(s.writeTimeLimit, h)), TLSConfig: config,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: quietLog(log),
		ConnContext: httpx.ConnContext,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			WriteByteTimeout: s.writeTimeLimit,
		},
	}}
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

// warn logs settings that are dangerous in production.
func (s *Server) warn(ctx context.Context) {
	set := &s.app.Settings
	loudly := func(message string, args ...any) {
		s.app.Log.WarnContext(ctx, message, args...) //nolint:sloglint // constants, all of them below
	}
	if set.WebhookPrivate {
		loudly("DEVELOPMENT SETTING: --webhook-allow-private lets webhooks reach private addresses; " +
			"never use it in production")
	}
	if set.WebhookCAFile != "" {
		loudly("DEVELOPMENT SETTING: --webhook-ca-file adds trusted CAs for webhook destinations",
			"file", set.WebhookCAFile)
	}
	if address, public := s.public("listen"); public && !strings.HasPrefix(strings.ToLower(set.PublicURL), "https://") {
		loudly("PLAIN HTTP ON A PUBLIC ADDRESS: passwords, keys and photos can be read on the way. Use --tls-listen, "+
			"or a proxy with TLS in front and its https address as --public-url", "listen", address)
	}
	if address, public := s.public("ops-listen"); public {
		loudly("OPERATIONS ON A PUBLIC ADDRESS: --ops-listen has no authentication; bind it to a private address",
			"ops_listen", address, "pprof", set.Pprof)
	}
	if left := set.Roles.missing(); set.Database == "" && left != "" {
		loudly("ROLES THAT NO NODE HAS: with SQLite there is one node; what --roles leaves out is not done", "missing", left)
	}
	if set.Demo {
		for _, name := range []string{"listen", "tls-listen"} {
			if address, public := s.public(name); public {
				loudly("DEMO ON A PUBLIC ADDRESS: --demo prints passwords and keys and issues certificates; "+
					"never use it in production", "listen", address)
				break
			}
		}
	}
	if info, err := os.Stat(set.Data); err == nil && info.Mode().Perm()&writableByOthers != 0 {
		loudly("OPEN DATA FOLDER: others than its owner can write to --data; set its mode to 0700",
			"data", set.Data, "mode", info.Mode().Perm().String())
	}
}

const writableByOthers = 0o022

// public returns where a listener listens, and whether others than this machine can reach it there.
func (s *Server) public(name string) (address string, public bool) {
	l, ok := s.listener[name]
	if !ok {
		return "", false
	}
	address = l.Addr().String()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address, false
	}
	ip, err := netip.ParseAddr(host)
	return address, err == nil && !ip.Unmap().IsLoopback()
}

// warnForwarded is called once when a proxy seems to be in front that --trusted-proxies does not tell of.
func (s *Server) warnForwarded(r *http.Request) {
	s.app.Log.WarnContext(r.Context(), "PROXY NOT IN --trusted-proxies: a private address forwards requests of others. "+
		"All clients seem to be that address: to limits, allowed networks, sign-in protection and logs",
		"peer", r.RemoteAddr)
}

// hsts tells browsers to come back over TLS only, for a year, where they have come over TLS, perhaps to a proxy. Over
// plain HTTP, and for certificates that they do not trust, browsers do not listen.
func (s *Server) hsts(next http.Handler) http.Handler {
	behindTLS := strings.HasPrefix(strings.ToLower(s.app.Settings.PublicURL), "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil || behindTLS {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		next.ServeHTTP(w, r)
	})
}
