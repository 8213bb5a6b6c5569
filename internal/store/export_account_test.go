package store_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// TestExport_Tables checks that whatever has rows of accounts is exported, or is known to have nothing for them.
func TestExport_Tables(t *testing.T) {
	target := filepath.Join(t.TempDir(), "assay.db")
	s, err := store.Open(t.Context(), target)
	must.NoError(t, err)
	defer func() { must.NoError(t, s.Close()) }()
	exported := store.ExportedTables()
	others := []string{
		"approvals", "staff_actions", // the log of those who run the service
		"verdict_drafts",                                                     // not given yet
		"mails",                                                              // sealed, and gone once they are sent
		"order_results", "photo_totals", "delivery_queue", "photo_retention", // follow from what is exported
	}
	for _, row := range rawsql.Rows(t, target, `SELECT m.name FROM sqlite_master AS m
		JOIN pragma_table_info(m.name) AS c
			ON c.name IN ('account_id', 'tenant', 'order_id', 'api_key_id', 'delivery_id', 'link_id')
		WHERE m.type = 'table' GROUP BY m.name`) {
		if !exported[row[0]] && !slices.Contains(others, row[0]) {
			t.Errorf("%s has rows of accounts, and is neither exported nor in the list of what is not", row[0])
		}
	}
}
