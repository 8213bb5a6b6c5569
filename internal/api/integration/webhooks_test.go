package integration_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

func endpoint(url string, changes ...obj) obj {
	return integrationtest.With(obj{"url": url, "events": []any{"order-outcome"}}, changes...)
}

func oauth(changes ...obj) obj {
	return integrationtest.With(obj{
		"type": "oauth2", "token_url": "https://auth.public.example/token", "client_id": "shop", "client_secret": "hush-hush",
		"scope": "events deliver",
	}, changes...)
}

// TestCreateWebhook registers endpoints.
func TestCreateWebhook(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("HMAC", func(t *testing.T) {
			c := account.Live(t)
			r := c.Post(t, "/webhooks",
				endpoint("https://a.public.example/Hook?x=1", obj{
					"name": "Production", "events": []any{"update-photos", "order-outcome"},
				})).Want(t, 201)
			secret := r.Text(t, "signing_secret")
			if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(secret) {
				t.Errorf("the signing secret is %q", secret)
			}
			r.Is(t, "", obj{
				"id": r.Text(t, "id"), "api_key_id": c.Key.ID, "name": "Production", "url": "https://a.public.example/Hook?x=1",
				"events": []any{"update-photos", "order-outcome"}, "created_at": "2026-03-02T01:00:00.000Z",
				"signing_secret": secret,
			})
		})
		t.Run("OAuth2", func(t *testing.T) {
			c := account.Live(t)
			r := c.Post(t, "/webhooks", endpoint("https://a.public.example/", obj{"auth": oauth()})).Want(t, 201)
			r.Is(t, "", obj{
				"id": r.Text(t, "id"), "api_key_id": c.Key.ID, "name": nil, "url": "https://a.public.example/",
				"events":     []any{"order-outcome"},
				"created_at": "2026-03-02T01:00:00.000Z",
				"auth": obj{
					"type": "oauth2", "token_url": "https://auth.public.example/token", "client_id": "shop", "scope": "events deliver",
				},
			})
		})
		t.Run("OAuth2WithoutScope", func(t *testing.T) {
			account.Live(t).Post(t, "/webhooks", endpoint("https://a.public.example/", obj{"auth": oauth(obj{"scope": nil})})).
				Want(t, 201).Is(t, "auth.scope", nil)
		})
		t.Run("SecretsAreNeverReturned", func(t *testing.T) {
			c := account.Live(t)
			secret := c.Post(t, "/webhooks", endpoint("https://a.public.example/1")).Text(t, "signing_secret")
			c.Post(t, "/webhooks", endpoint("https://a.public.example/2", obj{"auth": oauth()}))
			r := c.Get(t, "/webhooks").Want(t, 200).
				Lacks(t, "data.0.signing_secret", "data.1.signing_secret", "data.0.auth.client_secret", "data.1.auth")
			r.Is(t, "data.0.auth", obj{
				"type": "oauth2", "token_url": "https://auth.public.example/token", "client_id": "shop", "scope": "events deliver",
			})
			if strings.Contains(string(r.Body), secret) || strings.Contains(string(r.Body), "hush-hush") {
				t.Errorf("a secret is told: %s", r.Body)
			}
		})
		t.Run("SecretsAreEncryptedAtRest", func(t *testing.T) {
			c := account.Live(t)
			hmac := c.Post(t, "/webhooks", endpoint("https://a.public.example/1"))
			secret := hmac.Text(t, "signing_secret")
			id := c.Post(t, "/webhooks", endpoint("https://a.public.example/2", obj{"auth": oauth()})).Text(t, "id")
			for _, row := range rows(t, w, "SELECT * FROM webhook_endpoints WHERE api_key_id = $1", c.Key.ID) {
				if text := strings.Join(row, "\n"); strings.Contains(text, secret) || strings.Contains(text, "hush-hush") {
					t.Error("a secret stands in the database as it is")
				}
			}
			sealed := rows(t, w, "SELECT sealed_secret FROM webhook_endpoints WHERE id = $1", hmac.Text(t, "id"))[0][0]
			if got, err := w.Config.Secrets.Open(sealed, hmac.Text(t, "id")); err != nil || got != secret {
				t.Errorf("the sealed secret does not open: %v", err)
			}
			if _, err := w.Config.Secrets.Open(sealed, id); err == nil {
				t.Error("the sealed secret opens for another endpoint")
			}
		})
		t.Run("SecretsAreFresh", func(t *testing.T) {
			c := account.Live(t)
			a := c.Post(t, "/webhooks", endpoint("https://a.public.example/1")).Text(t, "signing_secret")
			if b := c.Post(t, "/webhooks", endpoint("https://a.public.example/2")).Text(t, "signing_secret"); a == b {
				t.Error("two endpoints share a secret")
			}
		})
	})
}

// TestCreateWebhook_Shape checks the rules of form of an endpoint, one at a time.
func TestCreateWebhook_Shape(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		base := "https://a.public.example/"
		for _, shape := range []struct {
			name    string
			change  obj
			problem string
		}{
			{name: "URLMissing", change: obj{"url": nil}, problem: "url required"},
			{name: "URLEmpty", change: obj{"url": ""}, problem: "url format"},
			{name: "URLNotAString", change: obj{"url": 1}, problem: "url type"},
			{name: "URLRelative", change: obj{"url": "/hook"}, problem: "url format"},
			{name: "URLWithoutScheme", change: obj{"url": "a.public.example/hook"}, problem: "url format"},
			{name: "URLNotHTTPS", change: obj{"url": "http://a.public.example/"}, problem: "url https"},
			{name: "URLOtherScheme", change: obj{"url": "ftp://a.public.example/"}, problem: "url https"},
			{name: "URLWithoutHost", change: obj{"url": "https:///hook"}, problem: "url format"},
			{name: "URLWithUserinfo", change: obj{"url": "https://user:pw@a.public.example/"}, problem: "url userinfo"},
			{name: "URLWithFragment", change: obj{"url": base + "#x"}, problem: "url fragment"},
			{name: "URLWithSpace", change: obj{"url": base + "a b"}, problem: "url format"},
			{name: "URLWithWrongPort", change: obj{"url": "https://a.public.example:99999/"}, problem: "url port"},
			{name: "URLTooLong", change: obj{"url": base + strings.Repeat("x", 2049-len(base))}, problem: "url max_length"},
			{name: "EventsMissing", change: obj{"events": nil}, problem: "events required"},
			{name: "EventsEmpty", change: obj{"events": []any{}}, problem: "events min_items"},
			{name: "EventsNotAnArray", change: obj{"events": "order-outcome"}, problem: "events type"},
			{name: "EventUnknown", change: obj{"events": []any{"order-created"}}, problem: "events[0] enum"},
			{name: "EventTwice", change: obj{"events": []any{"update-photos", "update-photos"}}, problem: "events[1] duplicate"},
			{name: "EventNotAString", change: obj{"events": []any{1}}, problem: "events[0] type"},
			{name: "NameEmpty", change: obj{"name": ""}, problem: "name empty"},
			{name: "NameTooLong", change: obj{"name": strings.Repeat("界", 101)}, problem: "name max_length"},
			{name: "NameNotAString", change: obj{"name": true}, problem: "name type"},
			{name: "AuthNotAnObject", change: obj{"auth": "oauth2"}, problem: "auth type"},
			{name: "AuthTypeMissing", change: obj{"auth": oauth(obj{"type": nil})}, problem: "auth.type required"},
			{name: "AuthTypeUnknown", change: obj{"auth": oauth(obj{"type": "hmac"})}, problem: "auth.type enum"},
			{name: "TokenURLMissing", change: obj{"auth": oauth(obj{"token_url": nil})}, problem: "auth.token_url required"},
			{
				name: "TokenURLNotHTTPS", change: obj{"auth": oauth(obj{"token_url": "http://auth.public.example/"})},
				problem: "auth.token_url https",
			},
			{
				name: "TokenURLUpperCaseScheme", change: obj{"auth": oauth(obj{"token_url": "HTTPS://auth.public.example/"})},
				problem: "auth.token_url https",
			},
			{
				name: "TokenURLTooLong", change: obj{"auth": oauth(obj{"token_url": base + strings.Repeat("x", 2049-len(base))})},
				problem: "auth.token_url max_length",
			},
			{
				name: "TokenURLWithUserinfo", change: obj{"auth": oauth(obj{"token_url": "https://u@auth.public.example/"})},
				problem: "auth.token_url userinfo",
			},
			{name: "ClientIDMissing", change: obj{"auth": oauth(obj{"client_id": nil})}, problem: "auth.client_id required"},
			{name: "ClientIDEmpty", change: obj{"auth": oauth(obj{"client_id": ""})}, problem: "auth.client_id empty"},
			{
				name: "ClientIDTooLong", change: obj{"auth": oauth(obj{"client_id": strings.Repeat("x", 256)})},
				problem: "auth.client_id max_length",
			},
			{
				name: "ClientSecretMissing", change: obj{"auth": oauth(obj{"client_secret": nil})},
				problem: "auth.client_secret required",
			},
			{
				name: "ClientSecretEmpty", change: obj{"auth": oauth(obj{"client_secret": ""})},
				problem: "auth.client_secret empty",
			},
			{
				name: "ClientSecretTooLong", change: obj{"auth": oauth(obj{"client_secret": strings.Repeat("x", 2049)})},
				problem: "auth.client_secret max_length",
			},
			{
				name: "ScopeTooLong", change: obj{"auth": oauth(obj{"scope": strings.Repeat("x", 1025)})},
				problem: "auth.scope max_length",
			},
			{name: "AuthUnknownProperty", change: obj{"auth": oauth(obj{"audience": "x"})}, problem: "auth.audience unknown"},
		} {
			t.Run(shape.name, func(t *testing.T) {
				c.Post(t, "/webhooks", endpoint(base, shape.change)).Invalid(t, shape.problem)
			})
		}
		t.Run("ThreeEvents", func(t *testing.T) {
			c.Post(t, "/webhooks", endpoint(base, obj{"events": []any{"update-photos", "order-outcome", "update-photos"}})).
				Invalid(t, "events max_items", "events[2] duplicate")
		})
		t.Run("Longest", func(t *testing.T) {
			c.Post(t, "/webhooks", endpoint(base+strings.Repeat("x", 2048-len(base)), obj{
				"name": strings.Repeat("界", 100), "auth": oauth(obj{
					"token_url": base + strings.Repeat("x", 2048-len(base)), "client_id": strings.Repeat("x", 255),
					"client_secret": strings.Repeat("x", 2048),
					"scope":         strings.Repeat("x", 1024),
				}),
			})).Want(t, 201)
		})
		t.Run("NothingElseWasMade", func(t *testing.T) { c.Get(t, "/webhooks").Lacks(t, "data.1") })
	})
}

// TestCreateWebhook_Unsafe checks which hosts are refused; package netguard knows all addresses that are.
func TestCreateWebhook_Unsafe(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		for _, unsafe := range []struct{ name, host string }{
			{name: "Unresolvable", host: integrationtest.UnknownHost},
			{name: "PrivateName", host: integrationtest.PrivateHost},
			{name: "OnePrivateAddressOfTwo", host: integrationtest.MixedHost},
			{name: "MappedName", host: integrationtest.MappedHost},
			{name: "Loopback", host: "127.0.0.1"},
			{name: "Loopback6", host: "[::1]"},
			{name: "Private", host: "192.168.1.1"},
			{name: "LinkLocal", host: "169.254.169.254"},
			{name: "Shared", host: "100.64.0.1"},
			{name: "UniqueLocal", host: "[fd00::1]"},
			{name: "Multicast", host: "224.0.0.1"},
			{name: "Documentation", host: "[2001:db8::1]"},
			{name: "IPv4InsideIPv6", host: "[::ffff:10.0.0.1]"},
			{name: "NAT64", host: "[64:ff9b::a00:1]"},
			{name: "Unspecified", host: "0.0.0.0"},
			{name: "DecimalNumber", host: "2130706433"},
			{name: "Octal", host: "0177.0.0.1"},
			{name: "Localhost", host: "localhost"},
		} {
			t.Run(unsafe.name, func(t *testing.T) {
				e := c.Post(t, "/webhooks", endpoint("https://"+unsafe.host+"/hook")).Refused(t, 400, "unsafe-webhook-url").
					Is(t, "details.field", "url")
				if e.Text(t, "details.reason") == "" {
					t.Error("no reason is told")
				}
				c.Post(t, "/webhooks",
					endpoint("https://a.public.example/", obj{"auth": oauth(obj{"token_url": "https://" + unsafe.host + "/token"})})).
					Refused(t, 400, "unsafe-webhook-url").Is(t, "details.field", "auth.token_url")
			})
		}
		t.Run("ReasonTellsNoAddress", func(t *testing.T) {
			e := c.Post(t, "/webhooks", endpoint("https://"+integrationtest.PrivateHost+"/")).
				Refused(t, 400, "unsafe-webhook-url")
			if strings.Contains(string(e.Body), "10.1.2.3") {
				t.Errorf("the refusal tells an internal address: %s", e.Body)
			}
		})
		t.Run("Port", func(t *testing.T) {
			c.Post(t, "/webhooks", endpoint("https://8.8.8.8:1023/")).Refused(t, 400, "unsafe-webhook-url").
				Is(t, "details.reason", "port").Is(t, "details.field", "url").
				Is(t, "message", "url must use a port that this service calls: 443,1024-65535.")
		})
		t.Run("International", func(t *testing.T) {
			c.Post(t, "/webhooks", endpoint("https://例え.jp/")).Refused(t, 400, "unsafe-webhook-url").
				Is(t, "details.reason", "invalid-host").
				Is(t, "message", "url must name a valid host in ASCII: "+
					"write an international name in its xn-- form (invalid-host).")
		})
		t.Run("PublicAddress", func(t *testing.T) {
			c.Post(t, "/webhooks", endpoint("https://8.8.8.8/hook")).Want(t, 201)
			c.Post(t, "/webhooks", endpoint("https://a.public.example:8443/hook")).Want(t, 201)
		})
	})
}

// TestCreateWebhook_Conflicts checks that a URL is registered once and a key has ten endpoints.
func TestCreateWebhook_Conflicts(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("SameURL", func(t *testing.T) {
			c := account.Live(t)
			c.Post(t, "/webhooks", endpoint("https://a.public.example/hook")).Want(t, 201).
				Is(t, "url", "https://a.public.example/hook")
			for _, same := range []string{
				"https://a.public.example/hook", "HTTPS://a.public.example/hook", "https://A.Public.Example/hook",
				"https://a.public.example:443/hook",
			} {
				c.Post(t, "/webhooks", endpoint(same, obj{"events": []any{"update-photos"}, "name": "other"})).
					Refused(t, 409, "webhook-already-exists")
			}
			for _, other := range []string{
				"https://a.public.example/Hook", "https://a.public.example/hook/", "https://a.public.example/hook?x",
				"https://a.public.example:8443/hook", "https://b.public.example/hook",
			} {
				c.Post(t, "/webhooks", endpoint(other)).Want(t, 201).Is(t, "url", other)
			}
		})
		t.Run("URLAsWritten", func(t *testing.T) {
			c := account.Live(t)
			c.Post(t, "/webhooks", endpoint("https://A.public.example:443/Hook")).Want(t, 201).
				Is(t, "url", "https://A.public.example:443/Hook")
		})
		t.Run("TenEndpoints", func(t *testing.T) {
			c := account.Live(t)
			for i := range 10 {
				c.Post(t, "/webhooks", endpoint(fmt.Sprintf("https://a.public.example/%d", i))).Want(t, 201)
			}
			c.Post(t, "/webhooks", endpoint("https://a.public.example/10")).Refused(t, 409, "webhook-limit-reached")
			// before the limit
			c.Post(t, "/webhooks", endpoint("https://a.public.example/9")).Refused(t, 409, "webhook-already-exists")
			account.Live(t).Post(t, "/webhooks", endpoint("https://a.public.example/10")).Want(t, 201) // for each key
			c.Delete(t, "/webhooks/"+c.Get(t, "/webhooks").Text(t, "data.3.id")).Want(t, 204)
			c.Post(t, "/webhooks", endpoint("https://a.public.example/10")).Want(t, 201)
		})
	})
}

// TestListAndDeleteWebhooks reads and deletes endpoints.
func TestListAndDeleteWebhooks(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("None", func(t *testing.T) { account.Live(t).Get(t, "/webhooks").Want(t, 200).Is(t, "", obj{"data": []any{}}) })
		t.Run("NewestFirst", func(t *testing.T) {
			c := account.Live(t)
			var ids []string
			for i := range 4 {
				ids = append(ids, c.Post(t, "/webhooks", endpoint(fmt.Sprintf("https://a.public.example/%d", i))).Text(t, "id"))
				w.Clock.Advance(time.Duration(i%2) * time.Second) // some in the same moment
			}
			slices.Reverse(ids)
			if got := c.Get(t, "/webhooks").List(t, "data", "id"); !slices.Equal(got, ids) {
				t.Errorf("the endpoints are %q, not %q", got, ids)
			}
		})
		t.Run("Item", func(t *testing.T) {
			c := account.Live(t)
			made := c.Post(t, "/webhooks", endpoint("https://a.public.example/", obj{"name": "n"}))
			c.Get(t, "/webhooks").Is(t, "data.0", obj{
				"id": made.Text(t, "id"), "api_key_id": c.Key.ID, "name": "n", "url": "https://a.public.example/",
				"events":     []any{"order-outcome"},
				"created_at": made.Text(t, "created_at"),
			})
		})
		t.Run("Deleted", func(t *testing.T) {
			c := account.Live(t)
			id := c.Post(t, "/webhooks", endpoint("https://a.public.example/")).Text(t, "id")
			if r := c.Delete(t, "/webhooks/"+id).Want(t, 204); len(r.Body) != 0 {
				t.Errorf("the answer has a body: %s", r.Body)
			}
			c.Get(t, "/webhooks").Is(t, "data", []any{})
			c.Delete(t, "/webhooks/"+id).Refused(t, 404, "not-found")
			c.Post(t, "/webhooks", endpoint("https://a.public.example/")).Want(t, 201) // the URL is free again
		})
		t.Run("DeletedByUpperCaseID", func(t *testing.T) {
			c := account.Live(t)
			id := c.Post(t, "/webhooks", endpoint("https://a.public.example/")).Text(t, "id")
			c.Delete(t, "/webhooks/"+strings.ToUpper(id)).Want(t, 204)
		})
		t.Run("UnknownID", func(t *testing.T) {
			account.Live(t).Delete(t, "/webhooks/"+uuid7.New()).Refused(t, 404, "not-found")
		})
		t.Run("InvalidID", func(t *testing.T) {
			c := account.Live(t)
			for _, id := range []string{
				"x", "1", "%00", "%FF", "a%2Fb", "{" + uuid7.New() + "}", strings.ReplaceAll(uuid7.New(), "-", ""),
				"urn:uuid:" + uuid7.New(),
			} {
				c.Delete(t, "/webhooks/"+id).Refused(t, 400, "bad-request").Is(t, "details.field", "id")
			}
		})
		t.Run("CannotBeEdited", func(t *testing.T) {
			c := account.Live(t)
			id := c.Post(t, "/webhooks", endpoint("https://a.public.example/")).Text(t, "id")
			c.Send(t, request{
				Method: "PATCH", Path: "/webhooks/" + id, Body: obj{"paused": false, "url": "https://b.public.example/"},
			}).
				Invalid(t, "url unknown")
			for _, method := range []string{"PUT", "POST", "GET"} {
				c.Send(t, request{Method: method, Path: "/webhooks/" + id, Body: endpoint("https://b.public.example/")}).
					Refused(t, 404, "not-found")
			}
		})
	})
}
