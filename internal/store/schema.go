package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
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
// which it runs on a database in memory: they are one text for both engines, so every database of that version has these
// tables and columns, and no list of them has to be kept. The version must not be newer than the program.
func schemaAt(ctx context.Context, version int64) (tables []table, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	if err := migrate(ctx, db, database.DialectSQLite3, version); err != nil {
		return nil, err
	}
	q := Queries{c: &pool{db: db}, d: &sqliteDialect}
	err = q.rows(ctx, `SELECT t.name, c.name, c.type FROM sqlite_master AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'goose_db_version' ORDER BY t.rowid, c.cid`, nil,
		func(scan func(...any) error) error {
			var name string
			var c column
			var declared string
			if err := scan(&name, &c.name, &declared); err != nil {
				return err
			}
			switch declared {
			case "BIGINT", "INTEGER":
				c.integer = true
			case "TEXT":
			default:
				return fmt.Errorf("column %s.%s has the type %s: only BIGINT, INTEGER and TEXT can be copied exactly between engines", name, c.name, declared)
			}
			if len(tables) == 0 || tables[len(tables)-1].name != name {
				tables = append(tables, table{name: name})
			}
			t := &tables[len(tables)-1]
			t.columns = append(t.columns, c)
			return nil
		})
	for i := 0; i < len(tables) && err == nil; i++ {
		err = q.row(ctx, "SELECT COUNT(*) FROM "+tables[i].quoted(), nil, &tables[i].initial)
	}
	return tables, err
}

// newestVersion is the schema version that the program works with.
func newestVersion() (int64, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, f := range files {
		v, err := goose.NumericComponent(f)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
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
