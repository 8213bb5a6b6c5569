// Package keyring holds the keys of an installation, which the database keeps sealed with the secret key, and seals
// everything anew when the secret key is replaced.
package keyring

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
)

// Labels of the keys that an installation keeps. All are random: none can be found by guessing the secret key.
const (
	LiveCertificates = "certificates-live"
	TestCertificates = "certificates-test"
	AuditChains      = "audit-chains"
)

var keptLabels = []string{secret.RootLabel, LiveCertificates, TestCertificates, AuditChains}

// ErrSecretKey is returned for a secret key that is not the one of the database.
var ErrSecretKey = errors.New("the secret key is not the one that this database was written with")

// LostKeysError tells of keys that an installation was begun with and that are not there any more.
type LostKeysError struct{ Labels []string }

func (e *LostKeysError) Error() string {
	return fmt.Sprintf("the table sealed_keys has lost %s, which this installation was begun with. No other key can take "+
		"its place: restore a backup, or put the row back from a copy of this database", strings.Join(e.Labels, ", "))
}

// ErrNotBegun is returned for a database that nothing was written to yet: it has no keys.
var ErrNotBegun = errors.New("the database is empty")

// Open returns the box with the keys that the installation keeps. It writes nothing: it returns ErrNotBegun for an
// installation that has none yet, ErrSecretKey when the box cannot open them, and a LostKeysError.
func Open(ctx context.Context, db *store.Store, box *secret.Box) (*secret.Box, error) {
	untouched, err := db.Untouched(ctx) // first: another process may be beginning the installation
	if err != nil {
		return nil, err
	}
	sealed, err := db.SealedKeys(ctx)
	if err != nil {
		return nil, err
	}
	if untouched && len(sealed) == 0 {
		return nil, ErrNotBegun
	}
	if err := checkKept(sealed); err != nil {
		return nil, err
	}
	keys, err := openKeys(sealed, box)
	if err != nil {
		return nil, err
	}
	return box.Keep(keys), nil
}

// OpenOrCreate is Open for what may begin an installation: it makes the keys of a new one, all at once. It makes none
// anywhere else, where a new key would hide that the former one is lost. A kind of key that a later version introduces
// has to be made by that version's start, by a rule of its own.
func OpenOrCreate(ctx context.Context, db *store.Store, box *secret.Box, now time.Time) (*secret.Box, error) {
	kept, err := Open(ctx, db, box)
	if !errors.Is(err, ErrNotBegun) {
		return kept, err
	}
	if err := db.Update(ctx, func(tx *store.Tx) error {
		for _, label := range keptLabels {
			key := base64.StdEncoding.EncodeToString(secret.NewKey())
			if err := tx.InsertSealedKey(label, box.Seal(key, keyContext(label)), now); err != nil {
				return err
			}
		}
		sealed, err := tx.SealedKeys(ctx) // another process may have been first
		if err != nil {
			return err
		}
		keys, err := openKeys(sealed, box)
		if err != nil {
			return err
		}
		return tx.BeginStaffLog(audit.NewChain(box.Keep(keys).Derive(AuditChains)))
	}); err != nil {
		return nil, err
	}
	return Open(ctx, db, box)
}

// Check returns ErrSecretKey for sealed keys of an installation, by their labels, that the box does not open.
func Check(sealed map[string]string, box *secret.Box) error {
	_, err := openKeys(sealed, box)
	return err
}

// checkKept names the keys that are not there.
func checkKept(sealed map[string]string) error {
	var missing []string
	for _, label := range keptLabels {
		if _, ok := sealed[label]; !ok {
			missing = append(missing, label)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &LostKeysError{Labels: missing}
}

// openKeys opens all of them. Those that do not open are named where others do: then not the secret key alone is wrong.
func openKeys(sealed map[string]string, box *secret.Box) (map[string][]byte, error) {
	keys := make(map[string][]byte, len(sealed))
	var closed []string
	for _, label := range slices.Sorted(maps.Keys(sealed)) {
		text, err := box.Open(sealed[label], keyContext(label))
		if err != nil {
			closed = append(closed, label)
			continue
		}
		if keys[label], err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("kept key %s is broken", label)
		}
	}
	switch {
	case len(closed) == 0:
		return keys, nil
	case len(keys) == 0:
		return nil, ErrSecretKey
	default:
		return nil, fmt.Errorf("%w, or the table sealed_keys is damaged: it opens %s, but not %s", ErrSecretKey,
			strings.Join(slices.Sorted(maps.Keys(keys)), ", "), strings.Join(closed, ", "))
	}
}

func keyContext(label string) string { return "key " + label }
