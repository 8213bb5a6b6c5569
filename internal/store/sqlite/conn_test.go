package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/expect"
)

// TestConn_Statements checks that a connection keeps a bounded number of statements.
func TestConn_Statements(t *testing.T) {
	c := open(t, newFile(t))
	for i := range 3 * maxDirect {
		exec(t, c, "SELECT 1"+strings.Repeat(" ", i))
	}
	if n := len(c.byText); n > maxDirect {
		t.Errorf("it keeps %d statements", n)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen_Missing(t *testing.T) {
	if _, err := Open(URI(filepath.Join(t.TempDir(), "none", "assay.db")), nil); err == nil {
		t.Error("a file that cannot be there is opened")
	}
}

// TestUnnamed checks that only parameters in their order lose their names.
func TestUnnamed(t *testing.T) {
	expect.Equal(t, "in their order", Unnamed("SELECT $1, $2"), "SELECT ?, ?")
	for _, text := range []string{"SELECT 1", "SELECT $2, $1", "SELECT $1, $1", "SELECT $1, $2 + $10"} {
		expect.Equal(t, text, Unnamed(text), text)
	}
}
