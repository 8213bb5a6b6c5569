package e2e_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestBackup backs up a running server and restores the copy on both database engines.
func TestBackup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, settings)
		a := s.open(t)
		c := s.client(t, a.Live)
		url := upload(t, c, 1)[0]
		var want []string
		for range 3 {
			created, err := c.CreateOrder(t.Context(), tote(url))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, created.ID)
		}
		folder := filepath.Join(t.TempDir(), "backup")
		var summary struct{ Accounts, Orders, Photos int }
		s.CLI(t, &summary, "backup", folder)
		if summary.Accounts != 1 || summary.Orders != 3 || summary.Photos != 1 {
			t.Errorf("the backup says %+v", summary)
		}
		wantPrivate(t, folder)
		if got := s.Installation().Run(t, "backup", folder); got.ExitCode == 0 {
			t.Errorf("a second backup into the same folder: %+v", got)
		}
		if _, err := c.CreateOrder(t.Context(), tote(url)); err != nil { // not in the backup
			t.Fatal(err)
		}

		for name, other := range map[string]program.Settings{
			"ToSQLite":     {"secret-key": settings["secret-key"]},
			"ToPostgreSQL": {"database": pgtest.Database(t), "secret-key": s.secretKey(t, settings)},
		} {
			t.Run(name, func(t *testing.T) {
				checkRestored(t, folder, other, a, url, want)
			})
		}
	})
}

// secretKey returns the key of the server: the one that was set, or the generated one.
func (s *site) secretKey(t *testing.T, settings program.Settings) string {
	t.Helper()
	if key := settings["secret-key"]; key != "" {
		return key
	}
	key, err := os.ReadFile(filepath.Join(s.data, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

// checkRestored restores the backup into an empty installation and uses it.
func checkRestored(t *testing.T, folder string, settings program.Settings, a *account, url string, orders []string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	all := program.Settings{"data": data}
	for name, value := range settings {
		if value != "" {
			all[name] = value
		}
	}
	installation := program.New(t, all)
	installation.CLI(t, new(any), "restore", folder)
	if got := installation.Run(t, "restore", folder); got.ExitCode == 0 {
		t.Errorf("a second restore into the same place: %+v", got)
	}
	s := run(t, installation, data)
	c := s.client(t, a.Live)
	var got []string
	for order, err := range c.AllOrders(t.Context(), client.OrdersQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, order.ID)
	}
	slices.Reverse(got)
	if !slices.Equal(got, orders) {
		t.Errorf("restored orders are %v, want %v", got, orders)
	}
	if got, want := balance(t.Context(), t, c), int64(liveCredits-totePrice*len(orders)); got != want {
		t.Errorf("the balance is %d, want %d", got, want)
	}
	if _, err := c.CreateOrder(t.Context(), tote(url)); err != nil {
		t.Errorf("an order with a restored photo: %v", err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	send(t, &http.Client{Transport: s.transport(t)}, request).wantStatus(t, http.StatusOK)
	if proof := runCheck(t, s); proof.Orders != len(orders)+1 {
		t.Errorf("the proof is %+v", proof)
	}
}

// wantPrivate checks that the files of a directory are readable by their owner only.
func wantPrivate(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
