package signin_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service/signin"
)

// hashMemory is what the hash of a password takes; nothing else that a sign-in does takes nearly as much.
const hashMemory = 19 << 20

// hashes counts the passwords that are hashed while f runs, by the memory that they take. It is no test of time: time
// says nothing on a machine that does other things, the work that is done does.
func hashes(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int((after.TotalAlloc - before.TotalAlloc) / hashMemory)
}

// TestSignInWork checks that a refused sign-in does the same work whether or not somebody has the email: one hash of a
// password, and one write. That both writes take the same statements is proved in the store.
func TestSignInWork(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		gone := w.person(t, "gone@acme.example", access.Reviewer, access.Viewer)
		w.remove(t, gone)
		refuse := func(email string) {
			if _, _, err := w.Password(t.Context(), email, "wrong", origin); !errors.Is(err, signin.WrongSignIn) {
				t.Errorf("%s: %v", email, err)
			}
		}
		refuse("first@acme.example") // makes the hash that stands for those of nobody
		for name, email := range map[string]string{
			"Known": w.who.Email, "Unknown": "nobody@acme.example", "Left": gone.Email, "NoEmail": "nobody",
		} {
			t.Run(name, func(t *testing.T) {
				before := len(w.SignInRecords(t, w.audience)) + w.unknown(t)
				if n := hashes(func() { refuse(email) }); n != 1 {
					t.Errorf("%d passwords were hashed", n)
				}
				if n := len(w.SignInRecords(t, w.audience)) + w.unknown(t) - before; n != 1 {
					t.Errorf("%d writes were made", n)
				}
			})
		}
	})
}
