package schema

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/plain"
)

// Problems compares the schema with that of the migrations and calls f for every table, column, index and
// constraint that is missing or another one. What was added beside them is nobody's business. The migrations are one
// text for both engines: what they make is learnt from a database in memory.
func Problems(ctx context.Context, d *db.DB, f func(object, message string)) (note string, err error) {
	newest, err := NewestVersion()
	if err != nil {
		return "", err
	}
	current, err := version(ctx, d.Queries)
	if err != nil {
		return "", err
	}
	if current > newest {
		return "The schema was not compared: it is that of a newer version of this program.", nil
	}
	memory, err := OpenMemory(ctx, current)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	made, err := madeObjects(ctx, memory)
	if err != nil {
		return "", err
	}
	if d.Dialect == &db.SQLite {
		return "", compareSQLite(ctx, d, made, f)
	}
	tables, err := madeTables(ctx, memory, made)
	if err != nil {
		return "", err
	}
	return "", comparePostgres(ctx, d, tables, f)
}

// madeObject is a table or an index as SQLite describes it.
type madeObject struct{ kind, name, definition string }

const objectsQuery = `SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL
	AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%' ORDER BY type DESC, name`

func madeObjects(ctx context.Context, memory *sql.DB) (made []madeObject, err error) {
	err = plain.Rows(ctx, memory, objectsQuery, nil, func(scan db.Scanner) error {
		var o madeObject
		err := scan(&o.kind, &o.name, &o.definition)
		made = append(made, o)
		return err
	})
	return made, err
}

// compareSQLite compares definitions, which SQLite keeps as they were written, but for their layout. A table may have
// columns besides.
func compareSQLite(ctx context.Context, d *db.DB, made []madeObject, f func(object, message string)) error {
	found := make(map[string]string)
	if err := d.Rows(ctx, objectsQuery, nil, func(scan db.Scanner) error {
		var o madeObject
		err := scan(&o.kind, &o.name, &o.definition)
		found[o.name] = essence(o.definition)
		return err
	}); err != nil {
		return err
	}
	for _, o := range made {
		switch definition, exists := found[o.name]; {
		case !exists:
			f(o.name, "the "+o.kind+" is missing")
		case definition != essence(o.definition) && !extends(definition, essence(o.definition)):
			f(o.name, "the "+o.kind+" is not as this program makes it")
		}
	}
	return nil
}

var (
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	sqlSpace   = regexp.MustCompile(`\s+`)
	sqlCheck   = regexp.MustCompile(`\bCHECK\s*\(`)
)

// essence is a definition without comments, layout and the quotes that a renaming adds.
func essence(definition string) string {
	definition = sqlComment.ReplaceAllString(definition, "")
	return sqlSpace.ReplaceAllString(strings.ReplaceAll(definition, `"`, ""), "")
}

// extends reports whether the essence of a table has all parts of another: columns were added to it, at most.
func extends(table, made string) bool {
	head, parts, tail := partsOf(table)
	madeHead, madeParts, madeTail := partsOf(made)
	return head == madeHead && tail == madeTail && len(parts) > len(madeParts) &&
		!slices.ContainsFunc(madeParts, func(part string) bool { return !slices.Contains(parts, part) })
}

// partsOf splits the essence of a table at the commas between its columns and constraints.
func partsOf(definition string) (head string, parts []string, tail string) {
	head, rest, _ := strings.Cut(definition, "(")
	depth, begin, quoted := 0, 0, false
	for i := range len(rest) {
		switch {
		case rest[i] == '\'':
			quoted = !quoted
		case quoted:
		case rest[i] == '(':
			depth++
		case rest[i] == ')' && depth == 0:
			return head, append(parts, rest[begin:i]), rest[i+1:]
		case rest[i] == ')':
			depth--
		case rest[i] == ',' && depth == 0:
			parts, begin = append(parts, rest[begin:i]), i+1
		}
	}
	return head, parts, ""
}

// tableForm is what both engines tell of a table.
type tableForm struct {
	columns map[string]bool // by name: whether it is never null
	indexes []indexForm
	foreign int // foreign keys
	checks  int
}

type indexForm struct {
	name    string // empty: that of a constraint
	unique  bool
	columns string // separated by commas; an expression is empty
	valid   bool
}

func (i *indexForm) String() string {
	switch {
	case i.name != "":
		return "the index " + i.name
	case i.unique:
		return "the unique key (" + i.columns + ")"
	}
	return "an index"
}

// madeTables returns the tables of a database in memory by name.
func madeTables(ctx context.Context, memory *sql.DB, made []madeObject) (map[string]*tableForm, error) {
	tables := make(map[string]*tableForm)
	for _, o := range made {
		if o.kind == "table" {
			checks := len(sqlCheck.FindAllString(sqlComment.ReplaceAllString(o.definition, ""), -1))
			tables[o.name] = &tableForm{columns: make(map[string]bool), checks: checks}
		}
	}
	const of = ` FROM sqlite_schema AS t, `
	return tables, errors.Join(
		plain.Rows(ctx, memory, `SELECT t.name, c.name, c."notnull" <> 0 OR c.pk > 0`+of+`pragma_table_info(t.name) AS c
			WHERE t.type = 'table'`, nil, func(scan db.Scanner) error {
			var table, column string
			var never bool
			err := scan(&table, &column, &never)
			if t := tables[table]; t != nil {
				t.columns[column] = never
			}
			return err
		}),
		plain.Rows(ctx, memory, `SELECT t.name, CASE WHEN i.origin = 'c' THEN i.name ELSE '' END, i."unique",
			(SELECT group_concat(COALESCE(name, ''), ',' ORDER BY seqno) FROM pragma_index_info(i.name))`+of+
			`pragma_index_list(t.name) AS i WHERE t.type = 'table'`, nil, func(scan db.Scanner) error {
			var table string
			i := indexForm{valid: true}
			err := scan(&table, &i.name, &i.unique, &i.columns)
			if t := tables[table]; t != nil {
				t.indexes = append(t.indexes, i)
			}
			return err
		}),
		plain.Rows(ctx, memory, `SELECT t.name, COUNT(DISTINCT k.id)`+of+`pragma_foreign_key_list(t.name) AS k
			WHERE t.type = 'table' GROUP BY t.name`, nil, func(scan db.Scanner) error {
			var table string
			var n int
			err := scan(&table, &n)
			if t := tables[table]; t != nil {
				t.foreign = n
			}
			return err
		}),
	)
}

// foundTables returns the tables of PostgreSQL by name, parts of others among them.
func foundTables(ctx context.Context, d *db.DB) (map[string]*tableForm, error) {
	tables := make(map[string]*tableForm)
	form := func(table string) *tableForm {
		if tables[table] == nil {
			tables[table] = &tableForm{columns: make(map[string]bool)}
		}
		return tables[table]
	}
	const here = ` AND t.relkind IN ('r', 'p') AND t.relnamespace = (SELECT oid FROM pg_namespace
		WHERE nspname = current_schema())`
	return tables, d.Snapshot(ctx, func(q db.Queries) error {
		if err := q.Rows(ctx, `SELECT t.relname::text, a.attname::text, a.attnotnull FROM pg_class AS t
			JOIN pg_attribute AS a ON a.attrelid = t.oid WHERE a.attnum > 0 AND NOT a.attisdropped`+here, nil,
			func(scan db.Scanner) error {
				var table, column string
				var never bool
				err := scan(&table, &column, &never)
				form(table).columns[column] = never
				return err
			}); err != nil {
			return err
		}
		if err := q.Rows(ctx, `SELECT t.relname::text, c.relname::text, i.indisunique, i.indisvalid,
			(SELECT string_agg(COALESCE(a.attname::text, ''), ',' ORDER BY k.ordinality)
				FROM unnest(i.indkey::int[]) WITH ORDINALITY AS k (attnum, ordinality)
				LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = k.attnum AND a.attnum > 0)
			FROM pg_index AS i JOIN pg_class AS t ON t.oid = i.indrelid JOIN pg_class AS c ON c.oid = i.indexrelid
			WHERE true`+here, nil, func(scan db.Scanner) error {
			var table string
			var i indexForm
			err := scan(&table, &i.name, &i.unique, &i.valid, &i.columns)
			form(table).indexes = append(form(table).indexes, i)
			return err
		}); err != nil {
			return err
		}
		return q.Rows(ctx, `SELECT t.relname::text, COUNT(*) FILTER (WHERE k.contype = 'f' AND k.conparentid = 0),
			COUNT(*) FILTER (WHERE k.contype = 'c') FROM pg_constraint AS k JOIN pg_class AS t ON t.oid = k.conrelid
			WHERE true`+here+" GROUP BY t.relname", nil, func(scan db.Scanner) error {
			var table string
			var foreign, checks int
			err := scan(&table, &foreign, &checks)
			form(table).foreign, form(table).checks = foreign, checks
			return err
		})
	})
}

func comparePostgres(ctx context.Context, d *db.DB, made map[string]*tableForm, f func(object, message string)) error {
	found, err := foundTables(ctx, d)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if found[name] == nil {
			f(name, "the table is missing")
			continue
		}
		made[name].compare(found[name], func(object, message string) { f(cmp.Or(object, name), message) })
	}
	return nil
}

// compare calls f for what a table that was found does not have; the object is empty for one without a name.
func (t *tableForm) compare(found *tableForm, f func(object, message string)) {
	for _, column := range slices.Sorted(maps.Keys(t.columns)) {
		switch never, exists := found.columns[column]; {
		case !exists:
			f("", "the table has no column "+column)
		case t.columns[column] && !never:
			f("", "the column "+column+" of the table may be null")
		}
	}
	for i := range t.indexes {
		want := &t.indexes[i]
		at := slices.IndexFunc(found.indexes, func(has indexForm) bool {
			return has.columns == want.columns && has.unique == want.unique && (want.name == "" || want.name == has.name)
		})
		switch {
		case at < 0:
			f(want.name, want.String()+" of the table is missing")
		case !found.indexes[at].valid:
			f(found.indexes[at].name, want.String()+" of the table is not valid: REINDEX it")
		}
	}
	if found.foreign < t.foreign {
		f("", fmt.Sprintf("the table has %d foreign keys, not %d", found.foreign, t.foreign))
	}
	if found.checks < t.checks {
		f("", fmt.Sprintf("the table has %d checks of its values, not %d", found.checks, t.checks))
	}
}
