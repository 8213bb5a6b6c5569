package service

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/store"
)

// newSigners returns what certificates of Live and of Test orders are signed with; none without secrets, and then none
// are issued.
func newSigners(box *secret.Box) map[access.Environment]*certificate.Signer {
	if box == nil {
		return nil
	}
	signers := make(map[access.Environment]*certificate.Signer, len(access.Environments))
	for env, label := range map[access.Environment]string{
		access.Live: keyring.LiveCertificates, access.Test: keyring.TestCertificates,
	} {
		signer, err := certificate.NewSigner(box.Derive(label), env == access.Test)
		if err != nil {
			panic("service: " + err.Error()) // a kept key has the right length
		}
		signers[env] = signer
	}
	return signers
}

// supersededReason is told where a Test order was moved on by its developer.
const supersededReason = "The simulated result was replaced."

// issueCertificate issues the certificate of an order that has just become authentic, in the transaction of that move:
// it says what the verdict says, whatever is changed afterwards.
func (s *Service) issueCertificate(tx *store.Tx, o *order.Order) error {
	signer := s.signers[o.Environment]
	if o.Status != order.Completed || o.Outcome != order.Authentic || o.CertificateID == "" || signer == nil {
		return nil
	}
	files, err := tx.OrderPhotoFiles(tx.Context(), o.ID)
	if err != nil {
		return err
	}
	signed, err := signer.Sign(s.certificateOf(o, files))
	if err != nil {
		return err
	}
	return tx.InsertCertificate(&certificate.Issued{Signed: *signed, ID: o.CertificateID, OrderID: o.ID}, o.UpdatedAt)
}

func (s *Service) certificateOf(o *order.Order, files []order.PhotoFile) *certificate.Certificate {
	kind := &o.Classification
	c := &certificate.Certificate{
		ID: o.CertificateID, URL: s.CertificateURL(o.CertificateID), Issuer: s.publicURL,
		IssuedAt:    certificate.Time(o.UpdatedAt.Truncate(time.Second)),
		OrderNumber: o.Number, Outcome: string(o.Outcome), Test: o.Environment == access.Test,
		Item: certificate.Item{
			Category: certificate.Name{Code: kind.CategoryCode, Text: kind.CategoryName},
			Brand:    certificate.Name{Code: kind.BrandCode, Text: kind.BrandName},
		},
		Photos: make([]certificate.Photo, len(files)),
	}
	if kind.ModelName != nil {
		c.Item.Model = &certificate.Name{Code: kind.ModelCode, Text: *kind.ModelName}
	}
	for i, f := range files {
		c.Photos[i] = certificate.Photo{IndexCode: f.IndexCode, Name: s.PhotoIndexName(o, f.IndexCode), SHA256: f.SHA256}
	}
	return c
}

// CertificateNotFound is the refusal of an address that no certificate has.
var CertificateNotFound = fault.Missing("certificate")

// CertificateBroken is the refusal to show a certificate that is not as it was signed.
var CertificateBroken = fault.New(fault.NotFound, "certificate-broken",
	"This certificate cannot be shown: it is not as it was signed. Please tell the issuer.")

// Certificate returns the certificate with the id, revoked or not, or CertificateNotFound. It is verified first: what
// was changed behind the program's back is not shown.
func (s *Service) Certificate(ctx context.Context, id string) (*certificate.Issued, error) {
	if !order.IsCertificateID(id) {
		return nil, CertificateNotFound
	}
	c, err := s.store.Certificate(ctx, id)
	if err != nil {
		return nil, store.NotFoundAs(err, CertificateNotFound)
	}
	if _, err := c.Verify(s.CertificateKeys()); err != nil {
		s.log.ErrorContext(ctx, "a certificate was changed in the database", "certificate", id, "error", err)
		return nil, CertificateBroken.Because(err)
	}
	return c, nil
}

// CertificatePhotos returns the managed names of the photos of a certificate, in the order in which it lists them. One
// that was erased has none.
func (s *Service) CertificatePhotos(ctx context.Context, c *certificate.Issued) ([]string, error) {
	files, err := s.store.OrderPhotoFiles(ctx, c.OrderID)
	if err != nil {
		return nil, err
	}
	facts, err := c.Read()
	if err != nil {
		return nil, err
	}
	byHash := make(map[string]string, len(files))
	for _, f := range files {
		if !f.Erased {
			byHash[f.SHA256] = f.Name
		}
	}
	names := make([]string, len(facts.Photos))
	for i, p := range facts.Photos {
		names[i] = byHash[p.SHA256]
	}
	return names, nil
}

// CertificateKeys returns the keys that certificates are signed with: that of Live orders, then that of Test orders.
// They are made from the private keys, never read from where they could be added to.
func (s *Service) CertificateKeys() certificate.KeySet {
	keys := certificate.KeySet{}
	for _, env := range []access.Environment{access.Live, access.Test} {
		if signer := s.signers[env]; signer != nil {
			keys = append(keys, signer.Key())
		}
	}
	return keys
}

// maxRevocationReason is how much an administrator may say in public.
const maxRevocationReason = 500

// RevokeCertificate revokes a certificate: its page stays and says so, with the reason, and so does the order's
// timeline. A certificate that is revoked already is a conflict.
func (s *Service) RevokeCertificate(ctx context.Context, actor access.Actor, id, reason string) error {
	if err := actor.Require(access.Administer); err != nil {
		return err
	}
	reason = strings.TrimSpace(text.Storable(reason, maxRevocationReason+1))
	switch n := utf8.RuneCountInString(reason); {
	case n == 0:
		return fault.InvalidField("reason", "required", "is required")
	case n > maxRevocationReason:
		return fault.InvalidField("reason", "max_length", "must be at most 500 characters")
	}
	if s.needsApproval(actor) {
		return s.requestRevocation(ctx, actor, id, reason)
	}
	return s.store.Update(ctx, func(tx *store.Tx) error { return s.revokeIn(tx, actor, id, reason) })
}

// certificateRevoked is the refusal to revoke a certificate twice.
var certificateRevoked = fault.New(fault.Conflict, "certificate-revoked", "The certificate is revoked already.")

// requestRevocation asks another administrator to approve a revocation.
func (s *Service) requestRevocation(ctx context.Context, actor access.Actor, id, reason string) error {
	c, err := s.store.Certificate(ctx, id)
	if err != nil {
		return store.NotFoundAs(err, CertificateNotFound)
	}
	if c.Revoked != nil {
		return certificateRevoked
	}
	o, err := s.store.Order(ctx, c.OrderID)
	if err != nil {
		return err
	}
	return s.requestApproval(ctx, actor, access.Approval{
		Kind: access.ApproveRevocation, AccountID: o.AccountID, TargetID: c.ID, TargetName: o.Number,
		Payload: access.ApprovalPayload{Reason: reason},
	})
}

// revokeIn revokes a certificate in a transaction.
func (s *Service) revokeIn(tx *store.Tx, actor access.Actor, id, reason string) error {
	c, err := tx.Certificate(tx.Context(), id)
	if err != nil {
		return store.NotFoundAs(err, CertificateNotFound)
	}
	o, err := tx.OrderForUpdate(c.OrderID)
	if err != nil {
		return err
	}
	now := s.now()
	if err := tx.RevokeCertificate(id, reason, now); err != nil {
		return store.NotFoundAs(err, certificateRevoked)
	}
	details := map[string]any{"reason": reason}
	return errors.Join(
		tx.AppendTimeline(c.OrderID, &order.TimelineEntry{
			At: now, Event: order.EventCertificateRevoked, Actor: actor, Details: details,
		}),
		s.recordStaffAction(tx, actor, audit.Action{
			Code: audit.CertificateRevoked, AccountID: o.AccountID, Details: details,
			Target: audit.ActionTarget{Type: audit.ActionTargetCertificate, ID: id, Name: o.Number},
		}))
}

// RevokedCertificates returns the certificates that were taken back last.
func (s *Service) RevokedCertificates(
	ctx context.Context, actor access.Actor, limit int,
) ([]certificate.Revoked, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return s.store.RevokedCertificates(ctx, limit)
}

// FindCertificate returns the certificate that a person means: by its id, or by the id or number of its order.
func (s *Service) FindCertificate(
	ctx context.Context, actor access.Actor, text string,
) (*certificate.Issued, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	if order.IsCertificateID(text) {
		return s.Certificate(ctx, text)
	}
	id, err := s.FindOrderID(ctx, text)
	if errors.Is(err, order.NotFound) {
		return nil, CertificateNotFound
	}
	if err != nil {
		return nil, err
	}
	o, err := s.store.Order(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && o.CertificateID == "" {
		return nil, CertificateNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.Certificate(ctx, o.CertificateID)
}
