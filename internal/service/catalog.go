package service

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// Catalog returns the current catalog; it never changes under the caller.
func (s *Service) Catalog() *catalog.Snapshot { return s.catalog.Load() }

// RefreshCatalog replaces the catalog in memory when another version was imported, and takes over which answer times are
// paused.
func (s *Service) RefreshCatalog(ctx context.Context) error {
	version, paused, err := s.Store.CatalogState(ctx)
	if err != nil {
		return err
	}
	s.paused.Store(&paused)
	if version == s.Catalog().Version() {
		return nil
	}
	text, version, err := s.Store.CatalogDocument(ctx)
	if err != nil {
		return err
	}
	doc, err := catalog.Parse([]byte(text))
	if err != nil {
		return err
	}
	accounts, err := s.Store.AccountIDs(ctx)
	if err != nil {
		return err
	}
	s.catalog.Store(catalog.NewSnapshot(doc, version, accounts))
	return nil
}

// PlanCatalogImport checks a document as a whole and returns what importing it would change.
func (s *Service) PlanCatalogImport(ctx context.Context, document []byte) (*catalog.Document, []catalog.Change, error) {
	doc, err := catalog.Parse(document)
	if err != nil {
		return nil, nil, err
	}
	accounts, err := s.Store.AccountIDs(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := doc.CheckAccounts(accounts); err != nil {
		return nil, nil, err
	}
	current, err := s.CatalogDocument(ctx)
	if err != nil {
		return nil, nil, err
	}
	return doc, catalog.Compare(current, doc), nil
}

// ImportCatalog replaces the catalog as a whole and returns what changed. Orders keep the texts they were made with.
func (s *Service) ImportCatalog(ctx context.Context, document []byte) ([]catalog.Change, error) {
	doc, changes, err := s.PlanCatalogImport(ctx, document)
	if err != nil {
		return nil, err
	}
	text, err := doc.JSON()
	if err != nil {
		return nil, err
	}
	if err := s.Store.Update(ctx, func(tx *store.Tx) error {
		version, err := tx.InsertCatalog(string(text), s.now())
		if err != nil {
			return err
		}
		return s.did(ctx, tx, catalogImported(version, len(changes)))
	}); err != nil {
		return nil, err
	}
	return changes, s.RefreshCatalog(ctx)
}

// catalogImported is the entry of the log of administration for a new catalog.
func catalogImported(version int64, changes int) audit.Action {
	number := strconv.FormatInt(version, 10)
	return audit.Action{
		Code: audit.CatalogImported, Target: audit.ActionTarget{Type: audit.OfCatalog, ID: number, Name: number}, Details: map[string]any{"changes": changes},
	}
}

// CatalogDocument returns the current catalog document; it is empty when none was imported.
func (s *Service) CatalogDocument(ctx context.Context) (*catalog.Document, error) {
	stored, _, err := s.Store.CatalogDocument(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return &catalog.Document{Locales: text.Locales}, nil
	}
	if err != nil {
		return nil, err
	}
	return catalog.Parse([]byte(stored))
}

// Offers returns the answer times of a context for an account, with their availability now.
func (s *Service) Offers(ctx context.Context, snap *catalog.Snapshot, where catalog.Context, accountID string) ([]catalog.Offer, error) {
	return s.offers(ctx, s.Store.Queries, snap.AnswerTimes(where, accountID))
}

// Paused reports whether an administrator has taken the answer time from new orders for the time being.
func (s *Service) Paused(answerTime int) bool {
	paused := s.paused.Load()
	return paused != nil && slices.Contains(*paused, answerTime)
}

// offers reads which options are paused, and how far the capacity of each is used, where it has one.
func (s *Service) offers(ctx context.Context, q store.Queries, options []*catalog.AnswerTime) ([]catalog.Offer, error) {
	var loads map[int]catalog.Load
	for _, option := range options {
		load := catalog.Load{Paused: s.Paused(option.Code)}
		switch {
		case load.Paused:
		case option.MaxOpenOrders == 0:
			continue
		default:
			var err error
			if load, err = q.OpenOrders(ctx, option.Code, option.MaxOpenOrders); err != nil {
				return nil, err
			}
		}
		if loads == nil {
			loads = make(map[int]catalog.Load)
		}
		loads[option.Code] = load
	}
	return catalog.Offers(options, s.now(), loads), nil
}
