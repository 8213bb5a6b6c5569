package service

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
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
)

// Labels of the keys that an installation keeps. All are random: none can be found by guessing the secret key.
const (
	liveCertificates = "certificates-live"
	testCertificates = "certificates-test"
	auditChains      = "audit-chains"
)

var keptLabels = []string{secret.RootLabel, liveCertificates, testCertificates, auditChains}

// ErrSecretKey is returned for a secret key that is not the one of the database.
var ErrSecretKey = errors.New("the secret key is not the one that this database was written with")

// ErrNotBegun is returned for a database that nothing was written to yet: it has no keys.
var ErrNotBegun = errors.New("the database is empty")

// OpenKeys returns the box with the keys that the installation keeps. It writes nothing: it returns ErrNotBegun for an
// installation that has none yet, ErrSecretKey when the box cannot open them, and names a key that was lost.
func OpenKeys(ctx context.Context, s *store.Store, box *secret.Box) (*secret.Box, error) {
	untouched, err := s.Untouched(ctx) // first: another process may be beginning the installation
	if err != nil {
		return nil, err
	}
	sealed, err := s.SealedKeys(ctx)
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

// KeepKeys is OpenKeys for what may begin an installation: it makes the keys of a new one, all at once. It makes none
// anywhere else, where a new key would hide that the former one is lost. A kind of key that a later version introduces
// has to be made by that version's start, by a rule of its own.
func KeepKeys(ctx context.Context, s *store.Store, box *secret.Box, now time.Time) (*secret.Box, error) {
	kept, err := OpenKeys(ctx, s, box)
	if !errors.Is(err, ErrNotBegun) {
		return kept, err
	}
	if err := s.Update(ctx, func(tx *store.Tx) error {
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
		return tx.BeginStaffLog(audit.NewChain(box.Keep(keys).Derive(auditChains)))
	}); err != nil {
		return nil, err
	}
	return OpenKeys(ctx, s, box)
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
	return fmt.Errorf("the table sealed_keys has lost %s, which this installation was begun with. No other key can take "+
		"its place: restore a backup, or put the row back from a copy of this database", strings.Join(missing, ", "))
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

// sealedPlaces are all columns with sealed values, and what each value is bound to, by the id of its row.
var sealedPlaces = []struct {
	column  store.SealedColumn
	context func(id string) string
}{
	{store.KeptKeys, keyContext},
	{store.EndpointSecrets, func(id string) string { return id }},
	{store.FactorSecrets, signin.TOTPContext},
	{store.MailContents, mailContext},
}

// Resealed is what a rotation of the secret key has done.
type Resealed struct {
	Resealed  int      `json:"resealed"`
	Remaining int      `json:"remaining"` // values that are not sealed with the current key
	Broken    []string `json:"-"`         // of those, the ones that no key opens, as "table id"
}

const resealBatch = 100

// RotateSecrets seals everything with the current secret key that is sealed with a previous one. Servers may run
// meanwhile, with both keys; when it is interrupted it goes on where it was.
func (s *Service) RotateSecrets(ctx context.Context) (*Resealed, error) {
	r := new(Resealed)
	done, err := s.beginSealed(ctx, "secrets to seal", s.secrets.Prefix())
	if err != nil {
		return r, err
	}
	// One kept key comes last. From the first one to it, neither secret key opens all kept keys alone, so that nothing
	// starts with one of them after an interruption.
	last := keptLabels[len(keptLabels)-1]
	for i, place := range append(slices.Clone(sealedPlaces), sealedPlaces[0]) {
		leave := func(id string) bool { return i == 0 && id == last || i == len(sealedPlaces) && id != last }
		broken, err := s.reseal(ctx, place.column, place.context, leave, r, done)
		if err != nil {
			return r, fmt.Errorf("seal %s: %w", place.column, err)
		}
		r.Broken = append(r.Broken, broken...)
	}
	for _, place := range sealedPlaces { // what others have sealed with a previous key meanwhile
		if err := s.eachSealed(ctx, place.column, s.secrets.Prefix(), func(store.SealedValue) error {
			r.Remaining++
			return nil
		}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// reseal does one column but for the rows to leave, and returns the values that cannot be opened.
func (s *Service) reseal(
	ctx context.Context, column store.SealedColumn, context func(string) string, leave func(string) bool,
	r *Resealed, done func(int64),
) (broken []string, err error) {
	err = s.eachSealed(ctx, column, s.secrets.Prefix(), func(v store.SealedValue) error {
		if leave(v.ID) {
			return nil
		}
		done(1)
		sealed, err := s.secrets.Reseal(v.Sealed, context(v.ID))
		if err != nil {
			broken = append(broken, column.String()+" "+v.ID)
			return nil
		}
		err = s.store.Update(ctx, func(tx *store.Tx) error { return tx.Reseal(column, v, sealed) })
		if errors.Is(err, store.ErrNotFound) { // changed or deleted meanwhile
			return nil
		}
		if err == nil {
			r.Resealed++
		}
		return err
	})
	return broken, err
}

// eachSealed calls f for the values of a column that do not begin with the prefix.
func (s *Service) eachSealed(
	ctx context.Context, column store.SealedColumn, prefix string, f func(store.SealedValue) error,
) error {
	for after := ""; ; {
		page, err := s.store.SealedAfter(ctx, column, after, prefix, resealBatch)
		if err != nil {
			return err
		}
		for _, v := range page {
			if err := f(v); err != nil {
				return err
			}
			after = v.ID
		}
		if len(page) < resealBatch {
			return nil
		}
	}
}

// beginSealed begins to tell of the values that do not begin with the prefix.
func (s *Service) beginSealed(ctx context.Context, what, prefix string) (done func(int64), err error) {
	var total int64
	if progress.On(ctx) {
		for _, place := range sealedPlaces {
			n, err := s.store.CountSealed(ctx, place.column, prefix)
			if err != nil {
				return nil, err
			}
			total += n
		}
	}
	return progress.Begin(ctx, what, progress.Items, total), nil
}

// UnreadableSecrets calls f for every sealed value that no key opens, with the name of its table and the id of its row.
func (s *Service) UnreadableSecrets(ctx context.Context, f func(table, id string)) error {
	done, err := s.beginSealed(ctx, "secrets", "")
	if err != nil {
		return err
	}
	for _, place := range sealedPlaces {
		if err := s.eachSealed(ctx, place.column, "", func(v store.SealedValue) error {
			done(1)
			if _, err := s.secrets.Open(v.Sealed, place.context(v.ID)); err != nil {
				f(place.column.String(), v.ID)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
