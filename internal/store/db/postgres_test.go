package db

import (
	"runtime"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
)

// TestOpenPostgres_Connections: a container with a quota of a few cores on a large machine does not open the
// connections of the machine.
func TestOpenPostgres_Connections(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for cores, want := range map[int]int{1: 16, 2: 16, 3: 24, 8: 64} {
		runtime.GOMAXPROCS(cores)
		config, err := ParsePostgres("postgres://assay@localhost/assay") // nothing connects
		must.NoError(t, err)
		d := OpenPostgres(config)
		must.CloseLater(t, d)
		if n := d.sql.Stats().MaxOpenConnections; n != want {
			t.Errorf("with %d cores a node opens up to %d connections, want %d", cores, n, want)
		}
	}
}
