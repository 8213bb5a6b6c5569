package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/assayhq/assay/internal/progress"
)

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
	ctx context.Context //nolint:containedctx // it lives for one copy
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
