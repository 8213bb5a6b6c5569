package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

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

// warnForwarded is called once when a proxy seems to be in front that no setting tells of.
func (s *Server) warnForwarded(r *http.Request) {
	s.app.Log.WarnContext(r.Context(), "PROXY WITHOUT --trusted-proxies: a private address forwards requests of others. "+
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
