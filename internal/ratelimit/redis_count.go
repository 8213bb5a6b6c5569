package ratelimit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

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
