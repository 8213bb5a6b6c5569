package audit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
)

// TestValues pins the values used on the wire.
func TestValues(t *testing.T) {
	t.Run("Codes", func(t *testing.T) {
		if want := []audit.Code{
			"auth.login.succeeded", "auth.login.failed", "auth.password.changed", "auth.email.changed", "api-key.created",
			"api-key.renamed", "api-key.revoked", "webhook.created",
		}; !slices.Equal(audit.Codes, want) {
			t.Errorf("the codes are %q", audit.Codes)
		}
	})
	t.Run("ActorTypes", func(t *testing.T) {
		if want := []audit.ActorType{"user", "api-key", "system"}; !slices.Equal(audit.ActorTypes, want) {
			t.Errorf("the actor types are %q", audit.ActorTypes)
		}
	})
	t.Run("Sources", func(t *testing.T) {
		if want := []audit.Source{"portal-web", "mobile", "integration-api", "system"}; !slices.Equal(audit.Sources, want) {
			t.Errorf("the sources are %q", audit.Sources)
		}
	})
	t.Run("TargetTypes", func(t *testing.T) {
		if want := []audit.TargetType{
			"user", "order", "api-key", "webhook", "webhook-delivery",
		}; !slices.Equal(audit.TargetTypes, want) {
			t.Errorf("the target types are %q", audit.TargetTypes)
		}
	})
	t.Run("Operator", func(t *testing.T) {
		if want := (audit.Actor{Type: "system", Name: "operator", Source: "system"}); audit.By(access.Operator) != want {
			t.Errorf("the operator is %+v", audit.By(access.Operator))
		}
	})
}

// TestChainHash checks that any change to an event or its predecessor changes the hash.
func TestChainHash(t *testing.T) {
	chain := audit.NewChain([]byte("key"))
	event := func() *audit.Event {
		return &audit.Event{
			ID:        "id",
			AccountID: "account",
			Seq:       7,
			UserID:    "user",
			At:        time.Unix(1, 2000).UTC(),
			Code:      audit.KeyCreated,
			Actor: audit.Actor{
				Type: audit.ByUser, ID: "actor", Name: "name", Source: audit.FromPortal, IP: "ip", UserAgent: "agent",
			},
			Target:   audit.Target{Type: audit.TargetAPIKey, ID: "target"},
			Personal: audit.Personal{Salt: "salt"},
		}
	}
	original := chain.EventHash("previous", event(), "{}")
	t.Run("Stable", func(t *testing.T) {
		if again := chain.EventHash("previous", event(), "{}"); again != original || len(original) != 64 {
			t.Errorf("the hash is %s, then %s", original, again)
		}
	})
	t.Run("TheKeyCounts", func(t *testing.T) {
		if audit.NewChain([]byte("other")).EventHash("previous", event(), "{}") == original {
			t.Error("whoever has no key can make the hash")
		}
	})
	t.Run("EveryFieldCounts", func(t *testing.T) {
		for name, change := range map[string]func(*audit.Event){
			"id":          func(e *audit.Event) { e.ID = "x" },
			"account":     func(e *audit.Event) { e.AccountID = "x" },
			"seq":         func(e *audit.Event) { e.Seq++ },
			"user":        func(e *audit.Event) { e.UserID = "x" },
			"at":          func(e *audit.Event) { e.At = e.At.Add(time.Microsecond) },
			"code":        func(e *audit.Event) { e.Code = audit.KeyRevoked },
			"actor type":  func(e *audit.Event) { e.Actor.Type = audit.BySystem },
			"actor id":    func(e *audit.Event) { e.Actor.ID = "x" },
			"actor name":  func(e *audit.Event) { e.Actor.Name = "x" },
			"source":      func(e *audit.Event) { e.Actor.Source = audit.FromSystem },
			"ip":          func(e *audit.Event) { e.Actor.IP = "x" },
			"user agent":  func(e *audit.Event) { e.Actor.UserAgent = "x" },
			"target type": func(e *audit.Event) { e.Target.Type = audit.TargetUser },
			"target id":   func(e *audit.Event) { e.Target.ID = "x" },
			"boundary": func(e *audit.Event) {
				e.ID, e.AccountID = "idac", "count"
			}, // text that moves from one field to the next
		} {
			e := event()
			change(e)
			if chain.EventHash("previous", e, "{}") == original {
				t.Errorf("a change of %s does not show", name)
			}
		}
	})
	t.Run("MetadataCounts", func(t *testing.T) {
		if chain.EventHash("previous", event(), `{"name":"x"}`) == original {
			t.Error("a change of the metadata does not show")
		}
	})
	t.Run("PredecessorCounts", func(t *testing.T) {
		if chain.EventHash("", event(), "{}") == original {
			t.Error("a change of the past does not show")
		}
	})
}

// TestActionHash checks that any change to an entry of the log of administration changes its hash.
func TestActionHash(t *testing.T) {
	chain := audit.NewChain([]byte("key"))
	action := func() *audit.Action {
		return &audit.Action{
			ID: "id", Seq: 7, At: time.Unix(1, 2000).UTC(), Code: audit.CreditsGranted, StaffID: "staff", StaffName: "name",
			AccountID: "account", Target: audit.ActionTarget{Type: audit.ActionTargetAccount, ID: "target", Name: "Target"},
			IP: "ip", UserAgent: "agent", Personal: audit.Personal{Salt: "salt"},
		}
	}
	original := chain.ActionHash("previous", action(), "{}")
	for name, change := range map[string]func(*audit.Action){
		"id":          func(a *audit.Action) { a.ID = "x" },
		"seq":         func(a *audit.Action) { a.Seq = 8 },
		"at":          func(a *audit.Action) { a.At = a.At.Add(time.Microsecond) },
		"code":        func(a *audit.Action) { a.Code = audit.StaffCreated },
		"staff":       func(a *audit.Action) { a.StaffID = "x" },
		"staff name":  func(a *audit.Action) { a.StaffName = "x" },
		"account":     func(a *audit.Action) { a.AccountID = "x" },
		"target type": func(a *audit.Action) { a.Target.Type = audit.ActionTargetUser },
		"target":      func(a *audit.Action) { a.Target.ID = "x" },
		"target name": func(a *audit.Action) { a.Target.Name = "x" },
		"ip":          func(a *audit.Action) { a.IP = "x" },
		"agent":       func(a *audit.Action) { a.UserAgent = "x" },
	} {
		a := action()
		change(a)
		if chain.ActionHash("previous", a, "{}") == original {
			t.Errorf("%s does not count", name)
		}
	}
	if chain.ActionHash("", action(), "{}") == original || chain.ActionHash("previous", action(), "[]") == original {
		t.Error("the predecessor or the details do not count")
	}
}

// TestErased checks that what an entry says of people can be erased without breaking the chain, and that nobody can
// pass a change off as that.
func TestErased(t *testing.T) {
	chain := audit.NewChain([]byte("key"))
	event := audit.Event{
		ID: "id", Actor: audit.Actor{Name: "name", IP: "192.0.2.7", UserAgent: "agent"}, Personal: audit.NewPersonal(),
	}
	original := chain.EventHash("previous", &event, `{"email":"a@b.example"}`)
	seal := chain.EventSeal(&event, `{"email":"a@b.example"}`)
	event.Actor, event.Personal = audit.Actor{}, audit.Personal{Seal: seal}
	t.Run("TheChainHolds", func(t *testing.T) {
		if chain.EventHash("previous", &event, audit.Nothing) != original {
			t.Error("the hash does not hold without what was erased")
		}
	})
	t.Run("NothingCanBeAdded", func(t *testing.T) {
		for name, change := range map[string]func(*audit.Event){
			"name":  func(e *audit.Event) { e.Actor.Name = "somebody else" },
			"ip":    func(e *audit.Event) { e.Actor.IP = "192.0.2.8" },
			"agent": func(e *audit.Event) { e.Actor.UserAgent = "another" },
			"seal":  func(e *audit.Event) { e.Personal.Seal = "x" },
			"salt":  func(e *audit.Event) { e.Personal.Salt = "x" },
		} {
			changed := event
			change(&changed)
			if chain.EventHash("previous", &changed, audit.Nothing) == original {
				t.Errorf("a change of %s does not show", name)
			}
		}
		if chain.EventHash("previous", &event, `{"a":1}`) == original {
			t.Error("metadata can be added")
		}
	})
	t.Run("OnlyWithTheKey", func(t *testing.T) {
		forged := audit.Event{ID: "id", Actor: audit.Actor{Name: "name"}, Personal: audit.NewPersonal()}
		event.Personal.Seal = audit.NewChain(nil).EventSeal(&forged, audit.Nothing)
		if chain.EventHash("previous", &event, audit.Nothing) == original {
			t.Error("whoever has no key can make a seal")
		}
	})
}

// TestSealedHead checks that a seal holds for one head alone.
func TestSealedHead(t *testing.T) {
	chain := audit.NewChain([]byte("key"))
	head := audit.Head{Chain: audit.OfAnAccount, AccountID: "a", Number: 7, Hash: "h"}
	stored := chain.SealHead(&head)
	head.SetStored(stored)
	if head.Hash != "h" || !chain.HoldsHead(&head) {
		t.Errorf("%q is %+v, which does not hold", stored, head)
	}
	for name, change := range map[string]func(*audit.Head){
		"chain":   func(h *audit.Head) { h.Chain = audit.OfThePortal },
		"account": func(h *audit.Head) { h.AccountID = "b" },
		"number":  func(h *audit.Head) { h.Number-- },
		"hash":    func(h *audit.Head) { h.SetStored("g." + h.Seal) },
		"seal":    func(h *audit.Head) { h.SetStored("h") },
	} {
		changed := head
		change(&changed)
		if chain.HoldsHead(&changed) {
			t.Errorf("a change of %s does not show", name)
		}
	}
	if audit.NewChain([]byte("other")).HoldsHead(&head) {
		t.Error("whoever has another key can make the seal")
	}
}
