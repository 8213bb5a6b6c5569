package service_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/hostile"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestHostileURLs registers destinations that must not be called, as url and as token_url.
func TestHostileURLs(t *testing.T) {
	s := shop.New(t, storetest.SQLite(t))
	s.Reconfigure(t, hostileNetwork)
	honest, _ := webhook.CheckURL("url", "https://example.com/hook")
	refuse := func(t *testing.T, n service.NewEndpoint, field string) {
		t.Helper()
		n.Events = webhook.Events
		_, _, err := s.Service.CreateEndpoint(t.Context(), s.Test.Actor(access.Origin{}), s.Test.ID, n)
		if fault.CodeOf(err) != webhook.CodeUnsafe {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, host := range hostile.Hosts {
		t.Run(host, func(t *testing.T) {
			target := "https://" + host + "/hook"
			u, problem := webhook.CheckURL("url", target)
			if problem != nil {
				return // refused by its form
			}
			refuse(t, service.NewEndpoint{URL: u}, "url")
			tokenURL, problem := webhook.CheckTokenURL("auth.token_url", target)
			if problem != nil {
				t.Fatalf("%s is a URL and no token URL: %v", target, problem)
			}
			refuse(t, service.NewEndpoint{URL: honest, OAuth: &service.NewOAuth{
				TokenURL: tokenURL, ClientID: "id",
				ClientSecret: "secret",
			}}, "token_url")
		})
	}
	for _, form := range hostile.URLs {
		raw := form
		if strings.Contains(form, "%s") {
			raw = fmt.Sprintf(form, "example.com")
		}
		if _, problem := webhook.CheckURL("url", raw); problem == nil {
			t.Errorf("%q passes as url", raw)
		}
		if _, problem := webhook.CheckTokenURL("auth.token_url", raw); problem == nil {
			t.Errorf("%q passes as token_url", raw)
		}
	}
	if n := len(hostile.Hosts) + len(hostile.URLs); n < 60 {
		t.Errorf("only %d hostile URLs", n)
	}
}

// hostileNetwork gives the use cases a resolver with hosts that must not be called.
func hostileNetwork(c *service.Config) { c.Guard = &netguard.Guard{Resolver: hostile.Resolver{}} }
