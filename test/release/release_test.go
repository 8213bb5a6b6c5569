// Package release_test checks how releases are made: reproducible, complete, and with a signature that can be checked.
package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/requires"
)

const root = "../.."

// checkout copies what git knows of the repository, as it is now, into a folder of another length.
func checkout(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "some", "where", "else")
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// platforms are those that a release is made for: this one, or with ASSAY_TEST_HARD all.
func platforms() []string {
	if os.Getenv("ASSAY_TEST_HARD") != "" {
		return nil // those of the script
	}
	return []string{runtime.GOOS + "/" + runtime.GOARCH}
}

// makeRelease makes a release and returns its folder.
func makeRelease(t *testing.T, from, key string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), "scripts/release", append([]string{"v0.0.1", out}, platforms()...)...)
	cmd.Dir = from
	cmd.Env = append(os.Environ(), "COMMIT=0123456789", "SOURCE_DATE_EPOCH=1700000000", "RELEASE_KEY="+key)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return out
}

// TestRelease checks that a release has the same bytes wherever it is made, that its sums are those of its files, that
// its archive has the program with its licences, and that a signature by the releaser's key can be checked.
func TestRelease(t *testing.T) {
	if requires.Fast() {
		t.Skip("builds the program twice")
	}
	key := filepath.Join(t.TempDir(), "key")
	run(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "releases@assay.example", "-f", key)
	here, there := makeRelease(t, root, key), makeRelease(t, checkout(t), "")
	archive := "assay_v0.0.1_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	made, err := os.ReadDir(here)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range made {
		if names = append(names, file.Name()); file.Name() == "SHA256SUMS.sig" {
			continue
		}
		if a, b := read(t, here, file.Name()), read(t, there, file.Name()); !bytes.Equal(a, b) {
			t.Errorf("%s differs when it is made in another folder", file.Name())
		}
	}
	want := []string{archive, strings.TrimSuffix(archive, ".tar.gz") + ".cdx.json", "NOTICE", "SHA256SUMS"}
	if platforms() == nil {
		for _, platform := range []string{"linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"} {
			want = append(want, "assay_v0.0.1_"+platform+".tar.gz", "assay_v0.0.1_"+platform+".cdx.json")
		}
	}
	for _, name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s in %v", name, names)
		}
	}
	for line := range strings.Lines(string(read(t, here, "SHA256SUMS"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := sha256.Sum256(read(t, here, name)); hex.EncodeToString(got[:]) != sum {
			t.Errorf("the sum of %s is not that of the file", name)
		}
	}
	t.Run("Archive", func(t *testing.T) { checkArchive(t, read(t, here, archive)) })
	t.Run("Signature", func(t *testing.T) { checkSignature(t, here, key+".pub") })
}

func checkArchive(t *testing.T, archive []byte) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(h.Name))
		if h.Name == "assay_v0.0.1_"+runtime.GOOS+"_"+runtime.GOARCH+"/assay" {
			program := filepath.Join(t.TempDir(), "assay")
			content, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, content, 0o700); err != nil {
				t.Fatal(err)
			}
			if out := run(t, "", program, "version"); !strings.Contains(out, "v0.0.1") || !strings.Contains(out, "0123456") {
				t.Errorf("its version is %q", out)
			}
			folder, err := filepath.Abs(root)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content, []byte(folder+"/")) {
				t.Error("the program has paths of the machine that built it")
			}
		}
	}
	for _, name := range []string{"assay", "LICENSE", "NOTICE", "SECURITY.md", "README.md", "CHANGELOG.md"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s: %v", name, names)
		}
	}
}

// checkSignature checks the signature as SECURITY.md tells people to, and that it does not fit other sums.
func checkSignature(t *testing.T, dist, public string) {
	key, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	line := `releases@assay.example namespaces="assay-release" ` + string(key)
	if err := os.WriteFile(signers, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := func(sums []byte) error {
		cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", signers,
			"-I", "releases@assay.example", "-n", "assay-release", "-s", filepath.Join(dist, "SHA256SUMS.sig"))
		cmd.Stdin = bytes.NewReader(sums)
		return cmd.Run()
	}
	sums := read(t, dist, "SHA256SUMS")
	if err := verify(sums); err != nil {
		t.Error(err)
	}
	if err := verify(append(sums, '\n')); err == nil {
		t.Error("the signature fits other sums")
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func run(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}
