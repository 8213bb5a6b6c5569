package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
)

// agreedPrices is the catalogs that are kept and have prices of an account: they are bound to its name, which another
// account may have after it.
type agreedPrices struct {
	account  string // its name
	current  int64  // the number of the current catalog
	catalogs []pricedCatalog
}

type pricedCatalog struct {
	version int64
	was     [sha256.Size]byte // the document
	without string            // the document without them
	prices  int64
}

// errPricesChanged says that what is known of the agreed prices may not hold anymore.
var errPricesChanged = errors.New("the catalog has changed meanwhile")

// agreedPrices reads all catalogs that are kept, which takes too long for a transaction.
func (e *eraser) agreedPrices(ctx context.Context) (*agreedPrices, error) {
	a, err := e.store.Account(ctx, e.report.AccountID)
	if err != nil {
		return nil, err
	}
	versions, err := e.store.CatalogVersions(ctx)
	if err != nil {
		return nil, err
	}
	p := &agreedPrices{account: a.Name}
	done := progress.Begin(ctx, "kept catalogs", progress.Items, int64(len(versions)))
	for _, version := range versions {
		p.current = version
		document, err := e.store.KeptCatalog(ctx, version)
		if err == nil {
			err = p.add(version, []byte(document))
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) { // its time may be over since
			return nil, err
		}
		done(1)
	}
	return p, nil
}

// add adds a catalog, if it has prices of the account.
func (p *agreedPrices) add(version int64, document []byte) error {
	doc, err := catalog.Parse(document)
	if err != nil {
		return fmt.Errorf("%w: row %d of catalog_versions: %w", ErrStoredCatalog, version, err)
	}
	doc, n := doc.WithoutAccount(p.account)
	if n == 0 {
		return nil
	}
	without, err := doc.JSON()
	p.catalogs = append(p.catalogs, pricedCatalog{version, sha256.Sum256(document), string(without), int64(n)})
	return err
}

// erase takes the prices out of the catalogs, if these are as they were read.
func (p *agreedPrices) erase(tx *store.Tx, rows store.Erasure, now time.Time) error {
	current, err := tx.CatalogVersion(tx.Context())
	if err != nil {
		return err
	}
	if current != p.current {
		return errPricesChanged
	}
	for i := range p.catalogs {
		if err := p.catalogs[i].erase(tx, rows, current, now); err != nil {
			return err
		}
	}
	return nil
}

func (c *pricedCatalog) erase(tx *store.Tx, rows store.Erasure, current int64, now time.Time) error {
	document, err := tx.KeptCatalogForUpdate(c.version)
	switch {
	case errors.Is(err, store.ErrNotFound): // its time was over
		return nil
	case err != nil:
		return err
	case sha256.Sum256([]byte(document)) != c.was:
		return errPricesChanged
	}
	if err := tx.ReplaceCatalog(c.version, c.without); err != nil || c.version != current {
		return err
	}
	rows["agreed_prices"] += c.prices
	next, err := tx.InsertCatalog(c.without, nil, now) // nodes take over a catalog by its number
	if errors.Is(err, store.ErrExists) || err == nil && next != current+1 {
		return errPricesChanged
	}
	return err
}
