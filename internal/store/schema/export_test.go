package schema

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

// AddMigration makes the program know one migration more, until the test ends.
func AddMigration(t testing.TB, name, text string) {
	t.Helper()
	before := migrations
	files := fstest.MapFS{"migrations/" + name: {Data: []byte(text)}}
	if err := fs.WalkDir(before, "migrations", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(before, p)
		files[p] = &fstest.MapFile{Data: content}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	migrations = files
	t.Cleanup(func() { migrations = before })
}
