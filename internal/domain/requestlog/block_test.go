package requestlog

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
)

var tenant = access.Tenant{AccountID: "a", Environment: access.Test}

func entries() []Entry {
	return []Entry{
		{
			ID: uuid.Must(uuid.NewV7()), Tenant: tenant, KeyID: "k1", Method: "GET", Route: "GET /v1/integrations/orders/{id}",
			OrderID: uuid.NewString(), Status: 200, Duration: 1234 * time.Microsecond,
		},
		{
			ID: uuid.Must(uuid.NewV7()), Tenant: tenant, KeyID: "k2", Method: "PUT", Ref: "/v1/integrations/テスト", Status: 404,
			Code: "not-found", Refusal: `{"message":"x"}`,
		},
		{
			ID: uuid.Must(uuid.NewV7()), Tenant: tenant, KeyID: "k1", Method: "HEAD", Route: "GET /v1/integrations/orders/{id}",
			Ref: "ext 1", Status: 404, Code: "not-found", Duration: time.Hour,
		},
	}
}

func TestBlock(t *testing.T) {
	want := entries()
	b := NewBlock(tenant)
	for _, i := range []int{1, 0, 2} {
		b.Add(&want[i])
	}
	want[0], want[1] = want[1], want[0]
	t.Run("EveryEntryComesBack", func(t *testing.T) {
		var got []Entry
		if err := Read(tenant, b.Text(), func(e *Entry) bool {
			got = append(got, *e)
			return true
		}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, %v; want %+v", got, err, want)
		}
	})
	t.Run("Range", func(t *testing.T) {
		if b.Requests != 3 || b.First != want[1].ID || b.Last != want[2].ID {
			t.Errorf("the block has %d requests from %s to %s", b.Requests, b.First, b.Last)
		}
	})
	t.Run("ReadingEnds", func(t *testing.T) {
		n := 0
		err := Read(tenant, b.Text(), func(*Entry) bool { n++; return n < 2 })
		if err != nil || n != 2 {
			t.Errorf("%d entries were read, %v", n, err)
		}
	})
	t.Run("BrokenBlocksAreRefused", func(t *testing.T) {
		raw, _ := base64.RawStdEncoding.DecodeString(b.Text())
		for n := range raw {
			_ = Read(tenant, base64.RawStdEncoding.EncodeToString(raw[:n]), func(*Entry) bool { return true })
		}
		for _, text := range []string{"", "%", "Ag", base64.RawStdEncoding.EncodeToString(raw[:len(raw)-1])} {
			if err := Read(tenant, text, func(*Entry) bool { return true }); err == nil {
				t.Errorf("the block %.20q was read", text)
			}
		}
	})
	t.Run("RepeatedWordsAreStoredOnce", func(t *testing.T) {
		if got := strings.Count(string(b.names)+string(b.body), "/orders/{id}"); got != 1 {
			t.Errorf("a route is stored %d times", got)
		}
	})
}

func TestEntry(t *testing.T) {
	e := entries()
	for i, want := range []string{
		"/v1/integrations/orders/" + e[0].OrderID, "/v1/integrations/テスト", "/v1/integrations/orders/ext 1",
	} {
		if got := e[i].Path(); got != want {
			t.Errorf("the path is %q, want %q", got, want)
		}
	}
	if d := time.Since(e[0].At()); d < 0 || d > time.Minute {
		t.Errorf("the request began %v ago", d)
	}
}

// BenchmarkAdd is what a request pays for being recorded, besides a lock.
func BenchmarkAdd(b *testing.B) {
	e := entries()[0]
	block := NewBlock(tenant)
	b.ReportAllocs()
	for b.Loop() {
		if block.Add(&e); block.Requests == MaxBlock {
			block = NewBlock(tenant)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	e := entries()[0]
	block := NewBlock(tenant)
	for range MaxBlock {
		block.Add(&e)
	}
	text := block.Text()
	b.ReportAllocs()
	for b.Loop() {
		_ = Read(tenant, text, func(*Entry) bool { return true })
	}
}
