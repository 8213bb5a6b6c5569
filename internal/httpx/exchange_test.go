package httpx

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"
)

type contextKey struct{}

// exchangeOf returns the context of a request below RequestID, whose parent ends with cancel.
func exchangeOf(t *testing.T) (x *exchange, r *http.Request, cancel context.CancelFunc) {
	t.Helper()
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "value"))
	t.Cleanup(cancel)
	RequestID(http.HandlerFunc(func(_ http.ResponseWriter, served *http.Request) {
		r, x = served, exchangeFrom(served.Context())
	})).ServeHTTP(httptest.NewRecorder(), get(t, "/x").WithContext(parent))
	return x, r, cancel
}

func TestRequestContext(t *testing.T) {
	t.Run("WithoutLimit", func(t *testing.T) {
		x, r, cancel := exchangeOf(t)
		ctx := r.Context()
		if _, ok := ctx.Deadline(); ok || ctx.Err() != nil || ctx.Value(contextKey{}) != "value" {
			t.Error("the context is not that of its parent")
		}
		child, stop := context.WithCancel(ctx)
		defer stop()
		if exchangeFrom(child) != x {
			t.Error("a child does not know the exchange")
		}
		cancel()
		<-ctx.Done()
		<-child.Done()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("ended with %v", ctx.Err())
		}
	})
	t.Run("ClientGone", func(t *testing.T) {
		_, r, cancel := exchangeOf(t)
		ctx := Limit(time.Hour, httptest.NewRecorder(), r).Context()
		if at, ok := ctx.Deadline(); !ok || time.Until(at) < time.Minute {
			t.Errorf("the deadline is %v, %v", at, ok)
		}
		cancel()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("ended with %v", ctx.Err())
		}
		<-ctx.Done()
	})
	t.Run("TimeOver", func(t *testing.T) {
		for name, prepare := range map[string]func(context.Context){
			"Asked": func(context.Context) {}, "Waited": func(ctx context.Context) { <-ctx.Done() },
			"Child": func(ctx context.Context) {
				child, stop := context.WithCancel(ctx)
				defer stop()
				<-child.Done()
			},
		} {
			_, r, cancel := exchangeOf(t)
			ctx := Limit(time.Nanosecond, httptest.NewRecorder(), r).Context()
			prepare(ctx)
			for ctx.Err() == nil {
				runtime.Gosched()
			}
			cancel()
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("%s: ended with %v", name, ctx.Err())
			}
		}
	})
	t.Run("LimitAfterUse", func(t *testing.T) {
		_, r, _ := exchangeOf(t)
		before, stop := context.WithCancel(r.Context())
		defer stop()
		ctx := Limit(time.Nanosecond, httptest.NewRecorder(), r).Context()
		<-ctx.Done()
		if before.Err() != nil {
			t.Error("what was begun before the limit has ended with it")
		}
	})
	t.Run("LimitTwice", func(t *testing.T) {
		_, r, _ := exchangeOf(t)
		for _, limit := range []time.Duration{time.Nanosecond, time.Hour} {
			r = Limit(limit, httptest.NewRecorder(), r)
			<-r.Context().Done()
		}
		if !errors.Is(r.Context().Err(), context.DeadlineExceeded) {
			t.Errorf("ended with %v", r.Context().Err())
		}
	})
	t.Run("OutsideOfRequestID", func(t *testing.T) {
		ctx := Limit(time.Nanosecond, httptest.NewRecorder(), get(t, "/x")).Context()
		<-ctx.Done()
	})
	t.Run("NoGoroutines", func(t *testing.T) {
		_, r, _ := exchangeOf(t)
		ctx := Limit(time.Hour, httptest.NewRecorder(), r).Context()
		before := runtime.NumGoroutine()
		for range 100 {
			_, stop := context.WithCancel(ctx)
			t.Cleanup(stop)
		}
		if n := runtime.NumGoroutine() - before; n >= 100 {
			t.Errorf("children of the context have started %d goroutines", n)
		}
	})
}
