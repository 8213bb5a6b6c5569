package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
)

// sealedPlace is a column with sealed values, and what each value is bound to, by the id of its row.
type sealedPlace struct {
	column  store.SealedColumn
	context func(id string) string
}

// sealedPlaces are all of them. The previous secret of an endpoint counts for as long as something is signed with it:
// one that has ended may be sealed with a key that was given up since.
func sealedPlaces(now time.Time) []sealedPlace {
	itself := func(id string) string { return id }
	return []sealedPlace{
		{store.KeptKeys, keyContext},
		{store.EndpointSecrets, itself},
		{store.PreviousSecrets(now), itself},
		{store.FactorSecrets, signin.TOTPContext},
		{store.MailContents, MailContext},
	}
}

// MailContext is what the sealed content of a mail is bound to.
func MailContext(id string) string { return "mail " + id }

// values are the sealed values of a database.
type values struct {
	db     *store.Store
	box    *secret.Box
	places []sealedPlace
}

// Resealed is what a rotation of the secret key has done.
type Resealed struct {
	Resealed  int      `json:"resealed"`
	Remaining int      `json:"remaining"` // values that are not sealed with the current key
	Broken    []string `json:"-"`         // of those, the ones that no key opens, as "table id"
}

const resealBatch = 100

// Rotate seals everything with the current secret key that is sealed with a previous one. Servers may run
// meanwhile, with both keys; when it is interrupted it goes on where it was.
func Rotate(ctx context.Context, db *store.Store, box *secret.Box, now time.Time) (*Resealed, error) {
	r, v := new(Resealed), &values{db, box, sealedPlaces(now)}
	done, err := v.begin(ctx, "secrets to seal", box.Prefix())
	if err != nil {
		return r, err
	}
	// One kept key comes last. From the first one to it, neither secret key opens all kept keys alone, so that nothing
	// starts with one of them after an interruption.
	last := keptLabels[len(keptLabels)-1]
	for i, place := range append(slices.Clone(v.places), v.places[0]) {
		leave := func(id string) bool { return i == 0 && id == last || i == len(v.places) && id != last }
		broken, err := v.reseal(ctx, place.column, place.context, leave, r, done)
		if err != nil {
			return r, fmt.Errorf("seal %s: %w", place.column, err)
		}
		r.Broken = append(r.Broken, broken...)
	}
	for _, place := range v.places { // what others have sealed with a previous key meanwhile
		if err := v.each(ctx, place.column, box.Prefix(), func(store.SealedValue) error {
			r.Remaining++
			return nil
		}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// reseal does one column but for the rows to leave, and returns the values that cannot be opened.
func (v *values) reseal(
	ctx context.Context, column store.SealedColumn, context func(string) string, leave func(string) bool,
	r *Resealed, done func(int64),
) (broken []string, err error) {
	err = v.each(ctx, column, v.box.Prefix(), func(value store.SealedValue) error {
		if leave(value.ID) {
			return nil
		}
		done(1)
		sealed, err := v.box.Reseal(value.Sealed, context(value.ID))
		if err != nil {
			broken = append(broken, column.String()+" "+value.ID)
			return nil
		}
		err = v.db.Update(ctx, func(tx *store.Tx) error { return tx.Reseal(column, value, sealed) })
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

// each calls f for the values of a column that do not begin with the prefix.
func (v *values) each(
	ctx context.Context, column store.SealedColumn, prefix string, f func(store.SealedValue) error,
) error {
	for after := ""; ; {
		page, err := v.db.SealedAfter(ctx, column, after, prefix, resealBatch)
		if err != nil {
			return err
		}
		for _, value := range page {
			if err := f(value); err != nil {
				return err
			}
			after = value.ID
		}
		if len(page) < resealBatch {
			return nil
		}
	}
}

// begin begins to tell of the values that do not begin with the prefix.
func (v *values) begin(ctx context.Context, what, prefix string) (done func(int64), err error) {
	var total int64
	if progress.On(ctx) {
		for _, place := range v.places {
			n, err := v.db.CountSealed(ctx, place.column, prefix)
			if err != nil {
				return nil, err
			}
			total += n
		}
	}
	return progress.Begin(ctx, what, progress.Items, total), nil
}

// Unreadable calls f for every sealed value that no key opens, with the name of its table and the id of its row.
func Unreadable(
	ctx context.Context, db *store.Store, box *secret.Box, now time.Time, f func(table, id string),
) error {
	v := &values{db, box, sealedPlaces(now)}
	done, err := v.begin(ctx, "secrets", "")
	if err != nil {
		return err
	}
	for _, place := range v.places {
		if err := v.each(ctx, place.column, "", func(value store.SealedValue) error {
			done(1)
			if _, err := box.Open(value.Sealed, place.context(value.ID)); err != nil {
				f(place.column.String(), value.ID)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
