package rawsql

import "testing"

// Intact reports whether SQLite itself finds nothing wrong with a file.
func Intact(t testing.TB, path string) bool {
	t.Helper()
	db := open(t, path)
	defer shut(t, db)
	rows, err := db.QueryContext(t.Context(), "PRAGMA integrity_check")
	if err != nil {
		return false
	}
	defer func() { _ = rows.Close() }()
	intact := true
	for rows.Next() {
		var text string
		intact = rows.Scan(&text) == nil && text == "ok" && intact
	}
	return rows.Err() == nil && intact
}
