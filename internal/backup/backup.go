// Package backup copies an installation into a folder while it runs, and back into an empty place.
//
// A backup is a folder:
//
//	manifest.json       what it is; written last, so that a folder without it is no backup
//	SHA256SUMS          the hash of every other file, in the form that sha256sum -c reads
//	database.jsonl.gz   all rows as they were at one moment, for either database engine
//	media/              the photos of those rows
//	secrets/            the generated secrets of the data folder
//
// It has everything of an installation, including secrets: its files are readable by their owner only.
package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/media"
)

const (
	manifestFile  = "manifest.json"
	sumsFile      = "SHA256SUMS"
	databaseFile  = "database.jsonl.gz"
	mediaFolder   = "media"
	secretsFolder = "secrets"

	// format is the form of a backup; a program reads the forms up to its own.
	format = 1

	fileMode   = 0o600
	folderMode = 0o700

	// copies is how many photos are copied at the same time: disks and media servers do a few as fast as one.
	copies = 4

	// progressEvery is how many photos lie between two signs of life.
	progressEvery = 1000
)

// ErrIncomplete is returned for a folder without a complete backup.
var ErrIncomplete = errors.New("there is no complete backup in this folder: it has no " + manifestFile)

// Summary says what was copied.
type Summary struct {
	Dir           string    `json:"dir,omitempty"`
	CreatedAt     time.Time `json:"created_at"` // of the backup
	SchemaVersion int64     `json:"schema_version"`
	Accounts      int64     `json:"accounts"`
	Orders        int64     `json:"orders"`
	Rows          int64     `json:"rows"` // of all tables
	Photos        int64     `json:"photos"`
	Secrets       int64     `json:"secrets"` // files
	Bytes         int64     `json:"bytes"`   // of all files of the backup
}

// manifest is what a backup says of itself.
type manifest struct {
	Format         int    `json:"format"`
	ProgramVersion string `json:"program_version"`
	SumsSHA256     string `json:"sums_sha256"` // of SHA256SUMS, and so of everything
	Summary
}

func readManifest(root *os.Root) (*manifest, error) {
	content, err := root.ReadFile(manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrIncomplete
	}
	if err != nil {
		return nil, err
	}
	m := new(manifest)
	if err := json.Unmarshal(content, m); err != nil || m.Format < 1 {
		return nil, fmt.Errorf("%s is damaged: %w", manifestFile, errors.Join(err, ErrIncomplete))
	}
	if m.Format > format {
		return nil, errors.New("the backup was made by a newer version of this program: install that version to restore it")
	}
	return m, nil
}

// mediaPath is where a backup keeps a photo: in 1,024 folders, so that none gets too full.
func mediaPath(name string) string { return path.Join(mediaFolder, name[:2], name) }

// photoName returns the managed name of the photo at a path of the backup.
func photoName(p string) (string, bool) {
	name := path.Base(p)
	if media.CheckName(name) != nil || p != mediaPath(name) {
		return "", false
	}
	return name, true
}

// secretName returns the path in the data folder of the secret at a path of the backup.
func secretName(p string) (string, bool) {
	name, ok := strings.CutPrefix(p, secretsFolder+"/")
	return name, ok && fs.ValidPath(name) && name != "."
}
