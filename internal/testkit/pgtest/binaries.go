package pgtest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/assayhq/assay/internal/testkit/requires"
)

// debianBinaries is where Debian installs the server programs of each major version, outside the PATH.
const debianBinaries = "/usr/lib/postgresql/*/bin"

// findBinaries returns the folder of the newest installed server that has both initdb and postgres.
func findBinaries() (string, error) {
	folders, err := filepath.Glob(debianBinaries)
	if err != nil {
		return "", err
	}
	newestFirst(folders)
	if path, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, folder := range folders {
		if isFile(filepath.Join(folder, "postgres")) && isFile(filepath.Join(folder, "initdb")) {
			return folder, nil
		}
	}
	return "", requires.Missing("the PostgreSQL server", "postgresql")
}

// newestFirst sorts folders of the form …/VERSION/bin; versions are numbers such as 15 or 9.6.
func newestFirst(folders []string) {
	version := func(folder string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(folder)), 64)
		return number
	}
	slices.SortFunc(folders, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
