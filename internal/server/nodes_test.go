package server

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/redistest"
)

// nodeSettings are those of a node in a new data folder.
func nodeSettings(t *testing.T, args ...string) Settings {
	t.Helper()
	var set Settings
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	set.Bind(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	set.Data = t.TempDir()
	set.Listen, set.TLSListen, set.OpsListen = "127.0.0.1:0", "", "127.0.0.1:0"
	return set
}

func fetch(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, body := must.Get(t, http.DefaultClient, address)
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s: 503 without Retry-After", address)
	}
	return resp.StatusCode, string(body)
}

// TestRedisIsNoCondition checks that a node is ready whether or not its Redis is there, and says what it does.
func TestRedisIsNoCondition(t *testing.T) {
	redis := redistest.Start(t)
	log := new(child.Output)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", log)
		}
	})
	s := run(t, nodeSettings(t, "--redis", redis.URL()), slog.New(slog.NewTextHandler(log, nil)))
	ops := "http://" + s.listener["ops-listen"].Addr().String()
	want := func(up string, ok bool) {
		t.Helper()
		must.Eventually(t, time.Minute, "assay_redis_up is "+up, func() bool {
			_, metrics := fetch(t, ops+"/metrics")
			return strings.Contains(metrics, "\nassay_redis_up "+up+"\n")
		})
		wantReady(t, s, "", "")
		if check, there := askReady(t, s).Checks["redis"]; !there || *check.OK != ok {
			t.Errorf("redis: %+v, want ok = %v", check, ok)
		}
		if code, body := fetch(t, s.BaseURL()+"/v1/integrations/balance"); code != http.StatusUnauthorized {
			t.Errorf("%d %s", code, body)
		}
	}
	want("1", true)
	redis.Kill(t)
	want("0", false)
	redis.Restart(t)
	want("1", true)
	if !strings.Contains(log.String(), "REDIS IS AWAY") {
		t.Errorf("log:\n%s", log.String())
	}
}

// TestAuthFailuresOverNodes checks that nodes with one Redis count failed authentications together.
func TestAuthFailuresOverNodes(t *testing.T) {
	redis := redistest.Start(t)
	var nodes []*Server
	for range 2 {
		set := nodeSettings(t, "--redis", redis.URL(), "--auth-failure-limit", "4")
		nodes = append(nodes, run(t, set, slog.New(slog.DiscardHandler)))
	}
	blocked := false
	for i := range 20 { // more than the limit: on a busy machine a node may decide one by itself
		code, _ := fetch(t, nodes[i%2].BaseURL()+"/v1/integrations/balance")
		if i < 4 && code != http.StatusUnauthorized {
			t.Errorf("failure %d is answered with %d", i, code)
		}
		blocked = blocked || code == http.StatusTooManyRequests
	}
	if !blocked {
		t.Error("20 failures from one address on two nodes with a limit of 4")
	}
	if n := redis.Client(t).Keys(t.Context(), "assay:failures:*").Val(); len(n) != 1 {
		t.Errorf("windows in Redis: %v", n)
	}
}

func TestRoles(t *testing.T) {
	const api, deskAPI, portal = "/v1/integrations/balance", "/v1/desk/orders", "/portal/sign-in"
	for name, test := range map[string]struct {
		roles   string
		codes   map[string]int // of paths; nil: nothing listens
		workers string
	}{
		"All": {
			"housekeeping,api,desk,images,deliver",
			map[string]int{api: 401, deskAPI: 401, "/docs": 200, portal: 200},
			"request log catalog housekeeping media-sweeper webhooks images",
		},
		"API": {
			"api",
			map[string]int{api: 401, "/docs": 200, deskAPI: 503, portal: 503, "/desk": 503, "/media/x": 404},
			"request log catalog webhook-announcer photo-announcer",
		},
		"Desk": {
			"desk",
			map[string]int{api: 503, "/docs": 503, deskAPI: 401, portal: 200, "/certificates/x": 404},
			"catalog webhook-announcer photo-announcer",
		},
		"Workers": {"deliver, images,housekeeping", nil, "catalog housekeeping media-sweeper webhooks images"},
		"Images":  {"images", nil, "catalog webhook-announcer images"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := new(child.Output)
			s := run(t, nodeSettings(t, "--roles", test.roles), slog.New(slog.NewTextHandler(log, nil)))
			wantReady(t, s, "", "")
			if got := strings.Contains(s.Addresses(), "http=-"); got != (test.codes == nil) {
				t.Errorf("it listens at %s", s.Addresses())
			}
			for path, want := range test.codes {
				if code, body := fetch(t, s.BaseURL()+path); code != want {
					t.Errorf("%s: %d, want %d\n%s", path, code, want, body)
				}
			}
			var workers []string
			for _, w := range s.workers {
				workers = append(workers, w.Name())
			}
			if got := strings.Join(workers, " "); got != test.workers {
				t.Errorf("workers %q, want %q", got, test.workers)
			}
			if got := strings.Contains(log.String(), "ROLES THAT NO NODE HAS"); got != (name != "All") {
				t.Errorf("log:\n%s", log.String())
			}
		})
	}
	for _, bad := range []string{"", "api,", "cook", "API"} {
		var roles Roles
		if err := roles.Set(bad); err == nil || !strings.Contains(err.Error(), "api,desk,deliver,images,housekeeping") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestPhotosAreAnnounced checks that a node that makes images hears of the photos that reach other nodes.
func TestPhotosAreAnnounced(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	log := slog.New(slog.DiscardHandler)
	open := func() *store.Store {
		s, err := store.Open(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	heard := make(chan []string, 10)
	here, there := newPhotoExchange(open(), log, nil), newPhotoExchange(open(), log, func(account string, n []string) {
		if account != "" && account != "acct" {
			t.Errorf("photos of %q", account)
		}
		heard <- n
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = here.Run(ctx) })
	running.Go(func() { _ = there.Run(ctx) })
	<-heard // it listens
	names := make([]string, 100)
	for i := range names {
		names[i] = uuid7.New() + ".jpg"
	}
	here.tell("acct", names)
	if got := append(<-heard, <-heard...); !slices.Equal(got, names) {
		t.Errorf("heard of %v", got)
	}
}

func TestRedisSetting(t *testing.T) {
	t.Parallel()
	set := nodeSettings(t, "--redis", "redis://:hunter2@localhost:x")
	if err := set.Check(); err == nil || !strings.Contains(err.Error(), "--redis must be redis://") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	set.Redis = "rediss://me:hunter2@redis.example:6380/1"
	if err := set.Check(); err != nil {
		t.Error(err)
	}
	for _, shown := range set.shown() {
		if strings.Contains(shown.Value, "hunter2") {
			t.Errorf("%+v", shown)
		}
	}
}
