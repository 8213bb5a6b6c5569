// Package backup copies a running installation into a directory, and restores it into an empty installation.
//
// A backup is a directory:
//
//	manifest.json       what it is; written last: a directory without it is not a backup
//	SHA256SUMS          the hash of every other file, in the format of sha256sum -c
//	database.jsonl.gz   all rows of one snapshot, for either database engine
//	media/              the photos of those rows
//	secrets/            the generated secrets of the data directory
//
// A backup contains secrets: its files are readable by their owner only.
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

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/media"
)

const (
	manifestFile  = "manifest.json"
	sumsFile      = "SHA256SUMS"
	databaseFile  = "database.jsonl.gz"
	mediaFolder   = "media"
	secretsFolder = "secrets"

	// format is the version of the backup format; a program reads versions up to its own.
	format = 1

	fileMode   = 0o600
	folderMode = 0o700

	// copies is the number of photos copied concurrently.
	copies = 4
)

// ErrIncomplete is returned for a directory without a complete backup.
var ErrIncomplete = errors.New("there is no complete backup in this folder: it has no " + manifestFile)

// Summary describes what was copied.
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

	// AuditHeads are the newest entries of the logs when the backup began: the logs in it lead through them.
	AuditHeads []audit.Head `json:"audit_heads"`
}

// manifest is the content of manifest.json.
type manifest struct {
	Format         int    `json:"format"`
	ProgramVersion string `json:"program_version"`
	SumsSHA256     string `json:"sums_sha256"` // of SHA256SUMS, and thereby of all files
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

// mediaPath returns the path of a photo in a backup: 1,024 directories, so that none gets too large.
func mediaPath(name string) string { return path.Join(mediaFolder, name[:2], name) }

// photoName returns the managed name of the photo at a path in a backup.
func photoName(p string) (string, bool) {
	name := path.Base(p)
	if media.CheckName(name) != nil || p != mediaPath(name) {
		return "", false
	}
	return name, true
}

// secretName returns the path in the data directory of the secret at a path in a backup.
func secretName(p string) (string, bool) {
	name, ok := strings.CutPrefix(p, secretsFolder+"/")
	return name, ok && fs.ValidPath(name) && name != "."
}
