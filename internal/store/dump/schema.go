package dump

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/plain"
	"github.com/assayhq/assay/internal/store/schema"
)

// table is a table of the schema with its columns in the order of their definition.
type table struct {
	name    string
	columns []column
	initial int64 // rows that the migrations themselves put into an empty database
}

type column struct {
	name    string
	integer bool // else text
}

// schemaAt returns the tables of a schema version in the order of their creation. It learns them from the migrations,
// which run on a database in memory: they are one text for both engines, so every database of that version has these
// tables and columns, and nobody has to maintain a list. The version must not be newer than the program.
func schemaAt(ctx context.Context, version int64) (tables []table, err error) {
	memory, err := schema.OpenMemory(ctx, version)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	err = plain.Rows(ctx, memory, `SELECT t.name, c.name, c.type FROM sqlite_master AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'goose_db_version'
		ORDER BY t.rowid, c.cid`, nil,
		func(scan db.Scanner) error {
			var name, declared string
			var c column
			if err := scan(&name, &c.name, &declared); err != nil {
				return err
			}
			switch declared {
			case "BIGINT", "INTEGER":
				c.integer = true
			case "TEXT":
			default:
				return fmt.Errorf("column %s.%s has the type %s: "+
					"only BIGINT, INTEGER and TEXT can be copied exactly between engines", name, c.name, declared)
			}
			if len(tables) == 0 || tables[len(tables)-1].name != name {
				tables = append(tables, table{name: name})
			}
			t := &tables[len(tables)-1]
			t.columns = append(t.columns, c)
			return nil
		})
	for i := 0; i < len(tables) && err == nil; i++ {
		tables[i].initial, err = plain.Value[int64](ctx, memory, "SELECT COUNT(*) FROM "+tables[i].quoted())
	}
	return tables, err
}

// quoted is the table's name in a statement.
func (t *table) quoted() string { return quote(t.name) }

// columnNames returns the columns as they are listed in a statement.
func (t *table) columnNames() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = quote(c.name)
	}
	return strings.Join(names, ", ")
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
