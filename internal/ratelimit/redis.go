package ratelimit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/assayhq/assay/internal/pause"
)

const (
	// DefaultPatience is how long a request waits while Redis says nothing to anybody, before the node's own windows
	// decide. It is more than one tick, because after a pause of this process the first one ends before the answer is
	// read that has arrived meanwhile.
	DefaultPatience = 2 * tick
	tick            = 2 * time.Millisecond

	// callTimeout is when a call that nobody waits for anymore is given up, and Redis counts as away.
	callTimeout = 250 * time.Millisecond

	// maxCalls bounds the calls that run, waited for or not.
	maxCalls = 1024

	probeAway = 100 * time.Millisecond // how often a Redis that is away is tried
	probeUp   = time.Second            // how often one is asked that seems to be there, where no request asks it
)

// ErrAway means that Redis was not asked or has not answered in time.
var ErrAway = errors.New("redis is away")

// Redis counts for all nodes. Each decision is one script, which Redis runs by itself. While Redis is away the node
// counts with its own windows, which go on from what Redis has last said; a request never waits for Redis to come back.
// It is a worker that notices when that happens.
type Redis struct {
	client   *redis.Client
	log      *slog.Logger
	own      *Memory
	failures *Failures
	patience int           // in ticks
	timeout  time.Duration // of a call

	up      atomic.Bool
	answers atomic.Uint64 // that Redis has given
	cause   atomic.Pointer[error]
	tripped chan struct{}
	calls   chan struct{}

	upMetric prometheus.Gauge
	late     prometheus.Counter
}

// RedisConfig is what NewRedis needs.
type RedisConfig struct {
	URL          string // redis://… or rediss://…
	FailureLimit int    // failed authentications of an address in a window
	Patience     time.Duration
	Now          func() time.Time
	Log          *slog.Logger
	Metrics      prometheus.Registerer // nil: not registered
}

// CheckRedisURL says what is wrong with an address, without repeating it: it may hold a password.
func CheckRedisURL(address string) error {
	_, err := parseRedisURL(address)
	return err
}

func parseRedisURL(address string) (*redis.Options, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "redis" && u.Scheme != "rediss") {
		return nil, errors.New("must be redis://user:password@host:port/database, or rediss://… for TLS")
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("has a database that is no number, or an unknown parameter")
	}
	return o, nil
}

// NewRedis returns a counter. Redis does not have to be there yet.
func NewRedis(c RedisConfig) (*Redis, error) {
	o, err := parseRedisURL(c.URL)
	if err != nil {
		return nil, err
	}
	o.MaxRetries, o.DialerRetries = -1, 1 // the own windows are the second try
	timeout := max(callTimeout, c.Patience)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
	o.PoolTimeout, o.ContextTimeoutEnabled = timeout, true
	o.MinIdleConns = 2
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.TLSConfig != nil {
		o.TLSConfig.MinVersion = tls.VersionTLS12
	}
	redis.SetLogger(silentLog{}) // what matters is said once, by this package
	r := &Redis{
		client: redis.NewClient(o), log: c.Log, own: NewMemory(c.Now), failures: NewFailures(c.FailureLimit, c.Now),
		patience: int(c.Patience / tick), timeout: timeout, tripped: make(chan struct{}, 1),
		calls: make(chan struct{}, maxCalls),
		upMetric: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "assay_redis_up", Help: "1 while limits are counted by Redis, 0 while this node counts by itself.",
		}),
		late: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "assay_redis_own_decisions_total",
			Help: "Decisions about limits that this node has made by itself, because Redis was away or late.",
		}),
	}
	if c.Metrics != nil {
		c.Metrics.MustRegister(r.upMetric, r.late)
	}
	r.probe(context.Background())
	return r, nil
}

type silentLog struct{}

func (silentLog) Printf(context.Context, string, ...any) {}

// Close ends the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Name implements the worker interface.
func (*Redis) Name() string { return "redis" }

// Run watches Redis until ctx ends.
func (r *Redis) Run(ctx context.Context) error {
	for {
		wait := probeUp
		if !r.up.Load() {
			wait = probeAway
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.tripped: // go on with short pauses
			continue
		case <-time.After(wait):
		}
		r.probe(ctx)
	}
}

// probe counts something, as a request would: a Redis that answers but cannot write is away.
func (r *Redis) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err := takeScript.Run(ctx, r.client, []string{"assay:probe"}, 1<<30, probeUp.Milliseconds()).Err()
	if err != nil {
		r.away(err)
		return
	}
	r.cause.Store(nil)
	r.upMetric.Set(1)
	if !r.up.Swap(true) {
		r.log.InfoContext(ctx, "redis counts limits for all nodes")
	}
}

func (r *Redis) away(err error) {
	first := r.cause.Swap(&err) == nil
	if r.up.Swap(false) || first {
		r.log.WarnContext(context.Background(), "REDIS IS AWAY: this node counts limits by itself until it is back",
			"error", err)
	}
	r.upMetric.Set(0)
	pause.Signal(r.tripped)
}

// Ping tells whether Redis counts, for /readyz.
func (r *Redis) Ping(context.Context) error {
	if r.up.Load() {
		return nil
	}
	if cause := r.cause.Load(); cause != nil {
		return fmt.Errorf("%w: %w", ErrAway, *cause)
	}
	return ErrAway
}

// ask runs a script and waits for its answer, as long as Redis says anything at all. A call that is not waited for any
// longer goes on: what it counts is counted.
func (r *Redis) ask(script *redis.Script, keys []string, args ...any) ([]int64, error) {
	if !r.up.Load() {
		return nil, r.decidedHere()
	}
	select {
	case r.calls <- struct{}{}:
	default:
		return nil, r.decidedHere()
	}
	answer := make(chan []int64, 1)
	go func() {
		defer func() { <-r.calls }()
		defer close(answer)
		ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
		defer cancel()
		values, err := script.Run(ctx, r.client, keys, args...).Int64Slice()
		if err != nil {
			r.away(err)
			return
		}
		r.answers.Add(1)
		answer <- values
	}()
	timer := time.NewTimer(tick)
	defer timer.Stop()
	heard := r.answers.Load()
	for silent := 0; silent < r.patience; {
		select {
		case values, ok := <-answer:
			if !ok {
				return nil, r.decidedHere()
			}
			return values, nil
		case <-timer.C:
			timer.Reset(tick)
			silent++
			if now := r.answers.Load(); now != heard {
				heard, silent = now, 0
			}
		}
	}
	return nil, r.decidedHere()
}

func (r *Redis) decidedHere() error {
	r.late.Inc()
	return ErrAway
}

// Counter is a window that something is counted in, and how much it holds.
type Counter struct {
	Key    string
	Limit  int
	Length time.Duration
}

// takeScript counts in all windows, or in none when one of them is full. It gets the limit and the length of each
// window, and returns {1, count of the first, milliseconds left of it}, or {0, number of the full one, milliseconds
// left of that}. The clock is that of Redis.
var takeScript = redis.NewScript(`
local function left(i)
	local ms = redis.call('PTTL', KEYS[i])
	if ms < 0 then
		ms = tonumber(ARGV[2 * i])
		redis.call('PEXPIRE', KEYS[i], ms)
	end
	return ms
end
for i, key in ipairs(KEYS) do
	if tonumber(redis.call('GET', key) or '0') >= tonumber(ARGV[2 * i - 1]) then
		return {0, i, left(i)}
	end
end
local first
for i, key in ipairs(KEYS) do
	local count = redis.call('INCR', key)
	if count == 1 then
		redis.call('PEXPIRE', key, ARGV[2 * i])
	end
	first = first or count
end
return {1, first, left(1)}`)

// usesScript returns count and milliseconds left of each window.
var usesScript = redis.NewScript(`
local uses = {}
for i, key in ipairs(KEYS) do
	uses[2 * i - 1] = tonumber(redis.call('GET', key) or '0')
	uses[2 * i] = math.max(0, redis.call('PTTL', key))
end
return uses`)

// giveBackScript forgets the first window and takes one back from each other one.
var giveBackScript = redis.NewScript(`
redis.call('DEL', KEYS[1])
for i = 2, #KEYS do
	if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then
		redis.call('DECR', KEYS[i])
	end
end
return {1}`)

func (q Quota) redisKey() string { return "assay:quota:" + q.Category + ":" + q.Key }

// Take implements Limiter. It never fails.
func (r *Redis) Take(ctx context.Context, key, category string, limit int) (Decision, error) {
	if limit < 1 {
		return Decision{RetryAfter: Window}, nil
	}
	q := Quota{key, category}
	got, err := r.ask(takeScript, []string{q.redisKey()}, limit, Window.Milliseconds())
	if err != nil || len(got) != 3 {
		return r.own.Take(ctx, key, category, limit)
	}
	left := min(time.Duration(got[2])*time.Millisecond, Window)
	if got[0] == 0 {
		r.own.follow(q, limit, left)
		return Decision{Limit: limit, RetryAfter: max(left, time.Millisecond)}, nil
	}
	count := int(got[1])
	r.own.follow(q, count, left)
	return Decision{Allowed: true, Limit: limit, Remaining: limit - count}, nil
}

// Uses implements Limiter. It never fails.
func (r *Redis) Uses(ctx context.Context, quotas []Quota) ([]Use, error) {
	keys := make([]string, len(quotas))
	for i, q := range quotas {
		keys[i] = q.redisKey()
	}
	got, err := r.ask(usesScript, keys)
	if err != nil || len(got) != 2*len(quotas) {
		return r.own.Uses(ctx, quotas)
	}
	uses := make([]Use, len(quotas))
	for i := range uses {
		uses[i] = Use{Count: int(got[2*i]), Left: time.Duration(got[2*i+1]) * time.Millisecond}
	}
	return uses, nil
}

// Fail implements FailureCounter.
func (r *Redis) Fail(ctx context.Context, addr string) (retryAfter time.Duration, blocked bool) {
	if r.failures.limit < 1 {
		return 0, false
	}
	window := Counter{"failures:" + OriginOf(addr), r.failures.limit, Window}
	wait, blocked, err := r.Count(ctx, window)
	if err != nil {
		return r.failures.Fail(ctx, addr)
	}
	return wait, blocked
}

// Count counts in all windows, or in none when one of them is full: then it tells when that one ends. The error is
// ErrAway.
func (r *Redis) Count(_ context.Context, windows ...Counter) (retryAfter time.Duration, full bool, err error) {
	keys, args := make([]string, len(windows)), make([]any, 0, 2*len(windows))
	for i, w := range windows {
		keys[i] = "assay:" + w.Key
		args = append(args, w.Limit, w.Length.Milliseconds())
	}
	got, err := r.ask(takeScript, keys, args...)
	if err != nil {
		return 0, false, err
	}
	if len(got) != 3 {
		return 0, false, ErrAway
	}
	if got[0] == 1 {
		return 0, false, nil
	}
	return time.Duration(max(got[2], 1)) * time.Millisecond, true, nil
}

// GiveBack forgets the first window and takes one back from each other one.
func (r *Redis) GiveBack(_ context.Context, keys ...string) error {
	named := make([]string, len(keys))
	for i, key := range keys {
		named[i] = "assay:" + key
	}
	_, err := r.ask(giveBackScript, named)
	return err
}
