package portal_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
)

// passkey gives a user a passkey of no device, for pages that only show it.
func (w *world) passkey(t *testing.T, u *access.User) *access.Passkey {
	t.Helper()
	id := uuid7.New()
	k := &access.Passkey{
		ID: id, Audience: access.Portal, UserID: u.ID, Name: "Vault 7 laptop", CredentialID: []byte("credential " + id),
		PublicKey:      []byte("key"),
		BackupEligible: true, BackedUp: true, AAGUID: "00000000-0000-0000-0000-000000000000", CreatedAt: w.Clock.Now(),
	}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.DeletePasskeys(access.Portal, u.ID); err != nil { // there is a limit
			return err
		}
		return tx.InsertPasskey(k)
	}))
	return k
}
