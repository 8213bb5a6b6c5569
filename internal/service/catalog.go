package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// Catalog returns the current catalog; it never changes under the caller.
func (s *Service) Catalog() *catalog.Snapshot { return s.catalog.Load() }

// ErrStoredCatalog is returned where the catalog in the database cannot be read.
var ErrStoredCatalog = errors.New("the catalog that is stored in the database cannot be read")

// RefreshCatalog replaces the catalog in memory when another version was imported, and takes over which answer times
// are paused.
func (s *Service) RefreshCatalog(ctx context.Context) error {
	version, paused, err := s.store.CatalogState(ctx)
	if err != nil {
		return err
	}
	s.paused.Store(&paused)
	if version == s.Catalog().Version() {
		return nil
	}
	text, version, err := s.store.CatalogDocument(ctx)
	if err != nil {
		return err
	}
	doc, err := catalog.Parse([]byte(text))
	if err != nil {
		return fmt.Errorf("%w: row %d of catalog_versions: %w", ErrStoredCatalog, version, err)
	}
	accounts, err := s.store.AccountIDs(ctx)
	if err != nil {
		return err
	}
	names, err := s.store.PhotoIndexNames(ctx)
	if err != nil {
		return err
	}
	s.catalog.Store(catalog.NewSnapshot(doc, version, accounts, names))
	return nil
}

// PlanCatalogImport checks a document as a whole and returns what importing it would change.
func (s *Service) PlanCatalogImport(ctx context.Context, document []byte) (*catalog.Document, []catalog.Change, error) {
	progress.Step(ctx, "step 1 of 3, checking the document")
	accounts, err := s.store.AccountIDs(ctx)
	if err != nil {
		return nil, nil, err
	}
	doc, err := catalog.ParseFor(document, accounts)
	if err != nil {
		return nil, nil, err
	}
	progress.Step(ctx, "step 2 of 3, comparing it with the current catalog")
	current, err := s.CatalogDocument(ctx)
	if err != nil {
		return nil, nil, err
	}
	return doc, catalog.Compare(current, doc), nil
}

// ImportCatalog replaces the catalog as a whole and returns what changed. Orders keep the texts they were made with.
func (s *Service) ImportCatalog(
	ctx context.Context, actor access.Actor, document []byte,
) ([]catalog.Change, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	doc, changes, err := s.PlanCatalogImport(ctx, document)
	if err != nil {
		return nil, err
	}
	progress.Step(ctx, fmt.Sprintf("step 3 of 3, importing %d changes", len(changes)))
	return changes, s.replaceCatalog(ctx, actor, doc, len(changes), func(*store.Tx) error { return nil })
}

// replaceCatalog stores a document as the next version, in one transaction with what has to be done before, and takes
// it over.
func (s *Service) replaceCatalog(
	ctx context.Context, actor access.Actor, doc *catalog.Document, changes int, before func(*store.Tx) error,
) error {
	text, err := doc.JSON()
	if err != nil {
		return err
	}
	if err := s.store.Update(ctx, func(tx *store.Tx) error {
		if err := before(tx); err != nil {
			return err
		}
		version, err := tx.InsertCatalog(string(text), doc.IndexNames(), s.now())
		if err != nil {
			return err
		}
		number := strconv.FormatInt(version, 10)
		return s.recordStaffAction(tx, actor, audit.Action{
			Code: audit.CatalogImported, Target: audit.ActionTarget{Type: audit.ActionTargetCatalog, ID: number, Name: number},
			Details: map[string]any{"changes": changes},
		})
	}); err != nil {
		return err
	}
	s.onChange(CatalogChange)
	return s.RefreshCatalog(ctx)
}

// CatalogDocument returns the current catalog document; it is empty when none was imported.
func (s *Service) CatalogDocument(ctx context.Context) (*catalog.Document, error) {
	stored, _, err := s.store.CatalogDocument(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return &catalog.Document{Locales: text.Locales}, nil
	}
	if err != nil {
		return nil, err
	}
	return catalog.Parse([]byte(stored))
}

// catalogChanged is the refusal of a draft that was compared with a catalog that is no longer the current one.
var catalogChanged = fault.New(
	fault.Conflict, "catalog-changed",
	"Another catalog was imported meanwhile. Upload the file again to see what it changes now.",
)

// CatalogPlan is an uploaded catalog and what importing it would change.
type CatalogPlan struct {
	Draft    *catalog.Draft
	Document *catalog.Document
	Changes  []catalog.Change
	Stale    bool // another catalog was imported after the upload
}

// UploadCatalog checks a document as a whole and keeps it for ConfirmCatalog. A document that breaks rules is refused
// with *catalog.DocumentError.
func (s *Service) UploadCatalog(
	ctx context.Context, actor access.Actor, fileName string, document []byte,
) (*CatalogPlan, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	version, _, err := s.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	doc, changes, err := s.PlanCatalogImport(ctx, document)
	if err != nil {
		return nil, err
	}
	encoded, err := doc.JSON()
	if err != nil {
		return nil, err
	}
	d := &catalog.Draft{
		ID: uuid7.New(), Document: encoded, FileName: text.Storable(fileName, maxFileName), BaseVersion: version,
		StaffID: actor.ID, CreatedAt: s.now(),
	}
	if err := s.store.Update(ctx, func(tx *store.Tx) error { return tx.InsertCatalogDraft(d) }); err != nil {
		return nil, err
	}
	return &CatalogPlan{Draft: d, Document: doc, Changes: changes}, nil
}

const maxFileName = 200

// CatalogPlan returns an uploaded catalog with what importing it would change now.
func (s *Service) CatalogPlan(ctx context.Context, actor access.Actor, draftID string) (*CatalogPlan, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	d, err := byID(ctx, draftID, s.store.CatalogDraft, fault.Missing("draft"))
	if err != nil {
		return nil, err
	}
	version, _, err := s.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	doc, changes, err := s.PlanCatalogImport(ctx, d.Document)
	if err != nil {
		return nil, err
	}
	return &CatalogPlan{Draft: d, Document: doc, Changes: changes, Stale: version != d.BaseVersion}, nil
}

// ConfirmCatalog imports an uploaded catalog, as it was previewed: when another one was imported meanwhile, it is
// refused.
func (s *Service) ConfirmCatalog(ctx context.Context, actor access.Actor, draftID string) ([]catalog.Change, error) {
	plan, err := s.CatalogPlan(ctx, actor, draftID)
	if err != nil {
		return nil, err
	}
	err = s.replaceCatalog(ctx, actor, plan.Document, len(plan.Changes), func(tx *store.Tx) error {
		version, err := tx.CatalogVersion(ctx)
		if err != nil {
			return err
		}
		if version != plan.Draft.BaseVersion {
			return catalogChanged
		}
		return store.NotFoundAs(tx.DeleteCatalogDraft(plan.Draft.ID), fault.Missing("draft"))
	})
	if errors.Is(err, store.ErrExists) { // another import took the number at this moment
		err = catalogChanged
	}
	return plan.Changes, err
}

// DropCatalogDraft deletes an uploaded catalog.
func (s *Service) DropCatalogDraft(ctx context.Context, actor access.Actor, draftID string) error {
	if err := actor.Require(access.Administer); err != nil {
		return err
	}
	id, ok := uuid7.Parse(draftID)
	if !ok {
		return fault.Missing("draft")
	}
	err := s.store.Update(ctx, func(tx *store.Tx) error { return tx.DeleteCatalogDraft(id) })
	return store.NotFoundAs(err, fault.Missing("draft"))
}
