package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// verified returns the certificate of an order after checking its file with the published keys.
func verified(t *testing.T, s *shop.Shop, orderID string) (*certificate.Issued, *certificate.Certificate) {
	t.Helper()
	o, err := s.Store.Order(t.Context(), orderID)
	if err != nil {
		t.Fatal(err)
	}
	row, err := s.Service.Certificate(t.Context(), o.CertificateID)
	if err != nil {
		t.Fatalf("certificate of order in %s %s: %v", o.Status, o.Outcome, err)
	}
	file, err := row.File()
	if err != nil {
		t.Fatal(err)
	}
	r, err := certificate.Verify(file, s.Service.CertificateKeys())
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "id", r.Certificate.ID, o.CertificateID)
	expect.Equal(t, "order number", r.Certificate.OrderNumber, o.Number)
	expect.Equal(t, "URL", r.Certificate.URL, s.Service.CertificateURL(o.CertificateID))
	expect.Equal(t, "outcome", r.Certificate.Outcome, "authentic")
	expect.Equal(t, "time of issue", time.Time(r.Certificate.IssuedAt), o.EndedAt.Truncate(time.Second))
	return row, r.Certificate
}

func TestCertificate(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		admin, err := s.Service.CreateStaff(ctx, access.Operator, "admin@assay.test", "Admin", access.Admin)
		if err != nil {
			t.Fatal(err)
		}
		reviewer, err := s.Service.CreateStaff(ctx, access.Operator, "reviewer@assay.test", "Reviewer", access.Reviewer)
		if err != nil {
			t.Fatal(err)
		}

		t.Run("Simulated", func(t *testing.T) {
			id := s.Order(t, s.Test, order.MockAuthentic)
			row, c := verified(t, s, id)
			if !c.Test || c.Item.Brand.Code != "prada" || c.Item.Category.JA == "" {
				t.Errorf("certificate = %+v", c)
			}
			if len(c.Photos) != 1 || c.Photos[0].Name.JA == "" || len(c.Photos[0].SHA256) != 64 {
				t.Errorf("photos = %+v", c.Photos)
			}
			names, err := s.Service.CertificatePhotos(ctx, row)
			photos, _ := s.Store.OrderPhotos(ctx, id)
			if err != nil || len(names) != 1 || names[0] != photos[0].Name {
				t.Errorf("CertificatePhotos = %v, %v; want %v", names, err, photos)
			}
		})
		t.Run("Live", func(t *testing.T) {
			id := s.Order(t, s.Live, "")
			if _, err := s.Service.ClaimOrder(ctx, reviewer.Staff.Actor(access.Origin{}), id); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Service.CompleteOrder(ctx, reviewer.Staff.Actor(access.Origin{}), id,
				&order.Verdict{Outcome: order.Authentic},
				""); err != nil {
				t.Fatal(err)
			}
			if _, c := verified(t, s, id); c.Test {
				t.Error("a Live certificate is marked as a test")
			}
		})
		t.Run("OnlyAuthentic", func(t *testing.T) {
			for _, mock := range []order.MockOutcome{order.MockFake, order.MockUnableToVerify, order.MockUpdatePhotos} {
				o, err := s.Store.Order(ctx, s.Order(t, s.Test, mock))
				if err != nil || o.CertificateID != "" {
					t.Errorf("%s: certificate %q, %v", mock, o.CertificateID, err)
				}
			}
		})
		t.Run("Unknown", func(t *testing.T) {
			for _, id := range []string{"", "x", order.NewCertificateID(), strings.Repeat("A", 32), strings.Repeat("\x00", 32)} {
				if _, err := s.Service.Certificate(ctx, id); !errors.Is(err, service.CertificateNotFound) {
					t.Errorf("Certificate(%q) = %v", id, err)
				}
			}
		})
		t.Run("Find", func(t *testing.T) {
			by := admin.Staff.Actor(access.Origin{})
			o, err := s.Store.Order(ctx, s.Order(t, s.Test, order.MockAuthentic))
			must.NoError(t, err)
			for _, text := range []string{o.ID, o.Number, o.CertificateID} {
				if c, err := s.Service.FindCertificate(ctx, by, text); err != nil || c.ID != o.CertificateID {
					t.Errorf("FindCertificate(%q) = %+v, %v", text, c, err)
				}
			}
			unknown := order.NumberPrefix + strings.Repeat("0", len(o.Number)-len(order.NumberPrefix))
			for _, text := range []string{"x", unknown, uuid7.New()} {
				if _, err := s.Service.FindCertificate(ctx, by, text); !errors.Is(err, service.CertificateNotFound) {
					t.Errorf("FindCertificate(%q) = %v", text, err)
				}
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := s.Service.FindCertificate(ended, by, o.Number); !errors.Is(err, context.Canceled) {
				t.Errorf("in a request that has ended: %v", err)
			}
		})
		t.Run("Revoke", func(t *testing.T) {
			id := s.Order(t, s.Test, order.MockAuthentic)
			row, _ := verified(t, s, id)
			if err := s.Service.RevokeCertificate(ctx, reviewer.Staff.Actor(access.Origin{}), row.ID,
				"x"); fault.CodeOf(err) != "forbidden" {
				t.Errorf("a reviewer revokes: %v", err)
			}
			for _, reason := range []string{"", "  ", strings.Repeat("あ", 501)} {
				if err := s.Service.RevokeCertificate(ctx, admin.Staff.Actor(access.Origin{}), row.ID,
					reason); fault.CodeOf(err) != fault.CodeValidation {
					t.Errorf("reason of %d characters: %v", len(reason), err)
				}
			}
			if err := s.Service.RevokeCertificate(ctx, admin.Staff.Actor(access.Origin{}), order.NewCertificateID(),
				"x"); !errors.Is(err, service.CertificateNotFound) {
				t.Errorf("unknown: %v", err)
			}
			if err := s.Service.RevokeCertificate(ctx, admin.Staff.Actor(access.Origin{}), row.ID,
				" The item was swapped.\n"); err != nil {
				t.Fatal(err)
			}
			row, _ = verified(t, s, id)
			if row.Revoked == nil || row.Revoked.Reason != "The item was swapped." {
				t.Errorf("revocation = %+v", row.Revoked)
			}
			if err := s.Service.RevokeCertificate(ctx, admin.Staff.Actor(access.Origin{}), row.ID,
				"again"); fault.CodeOf(err) != "certificate-revoked" {
				t.Errorf("twice: %v", err)
			}
			timeline, err := s.Store.Timeline(ctx, id)
			last := timeline[len(timeline)-1]
			if err != nil || last.Event != "certificate-revoked" || last.Actor.ID != admin.Staff.ID ||
				last.Details["reason"] != "The item was swapped." {
				t.Errorf("timeline ends with %+v, %v", last, err)
			}
		})
		t.Run("MovedOn", func(t *testing.T) {
			owner, err := s.Store.Owner(ctx, s.Account.ID)
			if err != nil {
				t.Fatal(err)
			}
			developer := owner.Actor(access.Test, access.Origin{})
			id := s.Order(t, s.Test, order.MockAuthentic)
			first, _ := verified(t, s, id)
			for _, to := range []order.SandboxState{
				order.SandboxState(order.Fake), order.SandboxState(order.Authentic), order.SandboxState(order.Authentic),
			} {
				s.Clock.Advance(time.Second)
				if _, err := s.Service.SimulateState(ctx, developer, id, to, nil); err != nil {
					t.Fatal(err)
				}
				if old, err := s.Service.Certificate(ctx, first.ID); err != nil || old.Revoked == nil {
					t.Errorf("moved to %s: the certificate of the replaced result stands: %v", to, err)
				}
			}
			if last, _ := verified(t, s, id); last.Revoked != nil || last.ID == first.ID {
				t.Errorf("the certificate of the result = %+v", last)
			}
		})
		t.Run("Keys", func(t *testing.T) {
			keys := s.Service.CertificateKeys()
			if len(keys) != 2 || keys[0].Test || !keys[1].Test || keys[0].ID == keys[1].ID {
				t.Fatalf("keys = %v, want one of Live and one of Test", keys)
			}
			box, err := secret.New(shop.SecretKey)
			must.NoError(t, err)
			for _, label := range []string{"certificate", "certificates-live", "certificates-test"} {
				derived, err := certificate.NewSigner(box.Derive(label), false)
				must.NoError(t, err)
				if _, ok := keys.Find(derived.Key().ID); ok {
					t.Errorf("the key can be derived from the secret key")
				}
			}
			row, _ := verified(t, s, s.Order(t, s.Test, order.MockAuthentic))
			expect.Equal(t, "key", row.KeyID, keys[1].ID)
		})
		t.Run("KeyChange", func(t *testing.T) { // another secret key does not touch what is signed
			id := s.Order(t, s.Test, order.MockAuthentic)
			box, err := secret.New(secret.Generate(), shop.SecretKey)
			must.NoError(t, err)
			box, err = keyring.OpenOrCreate(ctx, s.Store, box, s.Clock.Now())
			must.NoError(t, err)
			s.Reconfigure(t, func(c *service.Config) { c.Secrets = box })
			old, _ := verified(t, s, id)
			fresh, _ := verified(t, s, s.Order(t, s.Test, order.MockAuthentic))
			expect.Equal(t, "key", fresh.KeyID, old.KeyID)
		})
		t.Run("Changed", func(t *testing.T) { // behind the program's back
			first, _ := verified(t, s, s.Order(t, s.Test, order.MockAuthentic))
			second, _ := verified(t, s, s.Order(t, s.Test, order.MockAuthentic))
			set := func(from, to string) {
				rawsql.Exec(t, s.Target, "UPDATE certificates SET document = REPLACE(document, '"+from+"', '"+to+
					"') WHERE id = '"+first.ID+"'")
			}
			set(`"test":true`, `"test":false`)
			if _, err := s.Service.Certificate(ctx, first.ID); !errors.Is(err, service.CertificateBroken) {
				t.Errorf("an edited certificate is shown: %v", err)
			}
			set(`"test":false`, `"test":true`)
			verified(t, s, first.OrderID)
			// A signature that is right, of another certificate.
			rawsql.Exec(t, s.Target, "UPDATE certificates SET document = (SELECT document FROM certificates WHERE id = '"+
				second.ID+"'), signature = (SELECT signature FROM certificates WHERE id = '"+second.ID+
				"') WHERE id = '"+first.ID+"'")
			if _, err := s.Service.Certificate(ctx, first.ID); !errors.Is(err, service.CertificateBroken) {
				t.Errorf("the certificate of another order is shown: %v", err)
			}
		})
	})
}
