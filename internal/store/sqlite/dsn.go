package sqlite

import "net/url"

// DSN names a database for the driver of modernc.org/sqlite, with the settings of every connection, and more.
func DSN(path string, pragmas ...string) string {
	return URI(path) + "?" + url.Values{"_pragma": Pragmas(pragmas...)}.Encode()
}

// URI is the file of a database as SQLite takes it.
func URI(path string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
}

// Pragmas returns the settings of every connection, and more.
func Pragmas(more ...string) []string {
	return append([]string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
	}, more...)
}
