package service

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

// draftLife is how long an uploaded catalog waits for a yes.
const draftLife = 24 * time.Hour

// catalogChanged is the refusal of a draft that was compared with a catalog that is no longer the current one.
var catalogChanged = fault.New(fault.Conflict, "catalog-changed", "Another catalog was imported meanwhile. Upload the file again to see what it changes now.")

// CatalogPlan is an uploaded catalog and what importing it would change.
type CatalogPlan struct {
	Draft    *store.CatalogDraft
	Document *catalog.Document
	Changes  []catalog.Change
	Stale    bool // another catalog was imported after the upload
}

// UploadCatalog checks a document as a whole and keeps it for ConfirmCatalog. A document that breaks rules is refused with
// *catalog.DocumentError.
func (a *Administration) UploadCatalog(ctx context.Context, who *access.Staff, fileName string, document []byte) (*CatalogPlan, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	version, _, err := a.store().CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	doc, changes, err := a.service.PlanCatalogImport(ctx, document)
	if err != nil {
		return nil, err
	}
	text, err := doc.JSON()
	if err != nil {
		return nil, err
	}
	now := a.service.now()
	d := &store.CatalogDraft{
		ID: store.NewID(), Document: text, FileName: storable(fileName, maxFileName), BaseVersion: version, StaffID: who.ID, CreatedAt: now,
	}
	if err := a.store().Update(ctx, func(tx *store.Tx) error { return tx.InsertCatalogDraft(d, now.Add(-draftLife)) }); err != nil {
		return nil, err
	}
	return &CatalogPlan{Draft: d, Document: doc, Changes: changes}, nil
}

const maxFileName = 200

// CatalogPlan returns an uploaded catalog with what importing it would change now.
func (a *Administration) CatalogPlan(ctx context.Context, who *access.Staff, draftID string) (*CatalogPlan, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	id, ok := store.ParseID(draftID)
	if !ok {
		return nil, missing("draft")
	}
	d, err := a.store().CatalogDraft(ctx, id)
	if err != nil {
		return nil, orMissing(err, "draft")
	}
	version, _, err := a.store().CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	doc, changes, err := a.service.PlanCatalogImport(ctx, d.Document)
	if err != nil {
		return nil, err
	}
	return &CatalogPlan{Draft: d, Document: doc, Changes: changes, Stale: version != d.BaseVersion}, nil
}

// ConfirmCatalog imports an uploaded catalog, as it was previewed: when another one was imported meanwhile, it is refused.
func (a *Administration) ConfirmCatalog(ctx context.Context, who *access.Staff, draftID string) ([]catalog.Change, error) {
	plan, err := a.CatalogPlan(ctx, who, draftID)
	if err != nil {
		return nil, err
	}
	err = a.store().Update(ctx, func(tx *store.Tx) error {
		version, err := tx.CatalogVersion(ctx)
		if err != nil {
			return err
		}
		if version != plan.Draft.BaseVersion {
			return catalogChanged
		}
		if err := tx.DeleteCatalogDraft(plan.Draft.ID); err != nil {
			return orMissing(err, "draft")
		}
		_, err = tx.InsertCatalog(string(plan.Draft.Document), a.service.now())
		if errors.Is(err, store.ErrExists) { // another import took the number at this moment
			return catalogChanged
		}
		if err != nil {
			return err
		}
		return a.service.did(byStaff(ctx, who), tx, catalogImported(plan.Draft.BaseVersion+1, len(plan.Changes)))
	})
	if err != nil {
		return nil, err
	}
	return plan.Changes, a.service.RefreshCatalog(ctx)
}

// DropCatalogDraft forgets an uploaded catalog.
func (a *Administration) DropCatalogDraft(ctx context.Context, who *access.Staff, draftID string) error {
	if err := a.allow(who); err != nil {
		return err
	}
	id, ok := store.ParseID(draftID)
	if !ok {
		return missing("draft")
	}
	err := a.store().Update(ctx, func(tx *store.Tx) error { return tx.DeleteCatalogDraft(id) })
	return orMissing(err, "draft")
}

// Pauses returns which answer times are paused, by code.
func (a *Administration) Pauses(ctx context.Context, who *access.Staff) (map[int]store.AnswerTimePause, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	return a.store().AnswerTimePauses(ctx)
}

// PauseAnswerTime takes an answer time of the catalog from new orders, on every node within a second, until it is resumed.
// Orders that have it are not touched.
func (a *Administration) PauseAnswerTime(ctx context.Context, who *access.Staff, code int) error {
	if err := a.allow(who); err != nil {
		return err
	}
	times := a.service.Catalog().Document().AnswerTimes
	if !slices.ContainsFunc(times, func(t catalog.AnswerTime) bool { return t.Code == code }) {
		return missing("answer time")
	}
	return a.changePause(ctx, who, audit.AnswerTimePaused, code, func(tx *store.Tx) error {
		return tx.PauseAnswerTime(code, who.ID, a.service.now())
	})
}

// ResumeAnswerTime gives an answer time back to new orders.
func (a *Administration) ResumeAnswerTime(ctx context.Context, who *access.Staff, code int) error {
	if err := a.allow(who); err != nil {
		return err
	}
	return a.changePause(ctx, who, audit.AnswerTimeResumed, code, func(tx *store.Tx) error { return tx.ResumeAnswerTime(code) })
}

func (a *Administration) changePause(ctx context.Context, who *access.Staff, what audit.ActionCode, code int, f func(*store.Tx) error) error {
	if err := a.store().Update(ctx, func(tx *store.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		minutes := strconv.Itoa(code)
		return a.service.did(byStaff(ctx, who), tx, audit.Action{Code: what, Target: audit.ActionTarget{Type: audit.OfAnswerTime, ID: minutes, Name: minutes}})
	}); err != nil {
		return err
	}
	return a.service.RefreshCatalog(ctx)
}
