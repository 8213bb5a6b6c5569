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
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
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

	// Problems are photos that the installation had lost or damaged before: they are missing here, or as damaged. There
	// are ProblemCount, of which the first are named.
	Problems     []Problem `json:"problems,omitempty"`
	ProblemCount int64     `json:"problem_count,omitempty"`
}

// Problem is what is wrong with a photo of the installation.
type Problem struct {
	Photo   string `json:"photo"`
	Message string `json:"message"`
}

// maxProblems is how many problems a backup names.
const maxProblems = 100

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

// sum is one line of SHA256SUMS.
type sum struct {
	sha256 string // lower-case hex
	path   string // in the backup, with slashes
}

func (s sum) line() string { return s.sha256 + "  " + s.path + "\n" }

func parseSum(line string) (sum, error) {
	const hashChars = 2 * sha256.Size
	if len(line) < hashChars+3 || line[hashChars:hashChars+2] != "  " {
		return sum{}, fmt.Errorf("%s is damaged: %q", sumsFile, line)
	}
	return sum{sha256: line[:hashChars], path: line[hashChars+2:]}, nil
}

// eachSum calls f for every line of SHA256SUMS.
func eachSum(root *os.Root, f func(sum) error) (err error) {
	file, err := root.Open(sumsFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		s, err := parseSum(lines.Text())
		if err != nil {
			return err
		}
		if err := f(s); err != nil {
			return err
		}
	}
	return lines.Err()
}

// eachFile is eachSum for a few lines at the same time.
func eachFile(ctx context.Context, root *os.Root, f func(context.Context, sum) error) error {
	return concurrently(ctx, copies, func(ctx context.Context, begin func(func() error)) error {
		return eachSum(root, func(s sum) error {
			begin(func() error { return f(ctx, s) })
			return ctx.Err()
		})
	})
}

// hashFile returns the hash of a file's content, and calls done with the bytes read.
func hashFile(ctx context.Context, root *os.Root, name string, done func(int64)) (_ string, err error) {
	file, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return hashOf(ctx, progress.Reader(file, done))
}

func hashOf(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, &interruptible{ctx, r}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// interruptible is a reader that fails when its context ends.
type interruptible struct {
	ctx context.Context // it lives for one copy
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// checkPath refuses paths that cannot be written to SHA256SUMS.
func checkPath(p string) error {
	if strings.ContainsAny(p, "\n\r\\") {
		return fmt.Errorf("the name %q cannot be kept in a backup", p)
	}
	return nil
}
