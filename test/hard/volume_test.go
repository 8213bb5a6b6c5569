package hard_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assayhq/assay/internal/testkit/must"
)

// volume is a disk of its own: an ext4 file system in an image file, where one may be mounted, else a folder.
type volume struct {
	dir   string
	image string // empty: it is a folder
}

// command runs a program and returns what it said where it fails.
func command(name string, arguments ...string) error {
	output, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, bytes.TrimSpace(output))
	}
	return nil
}

const volumeSize = 256 << 20 // with holes

// newVolume makes a disk. What is written there reaches the image when it is flushed, and hardly before: the journal is
// not written by the clock.
func newVolume(t *testing.T) *volume {
	t.Helper()
	v := &volume{dir: t.TempDir(), image: filepath.Join(t.TempDir(), "disk.img")}
	f, err := os.Create(v.image)
	must.NoError(t, err)
	must.NoError(t, f.Truncate(volumeSize))
	must.NoError(t, f.Close())
	err = command("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1", v.image)
	if err == nil {
		err = v.mount()
	}
	if err != nil {
		t.Logf("no disk of its own (%v): a folder stands for it", err)
		v.image = ""
		return v
	}
	t.Cleanup(func() { v.unmount(t) })
	return v
}

func (v *volume) mount() error { return command("mount", "-o", "loop,commit=3600", v.image, v.dir) }

// unmount takes the file system away, once nobody uses it.
func (v *volume) unmount(t *testing.T) {
	t.Helper()
	if v.image == "" {
		return
	}
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = command("umount", v.dir); err == nil {
			return
		}
	}
	t.Error(err)
}

// kind says what the volume is, for a figure.
func (v *volume) kind() string {
	if v.image == "" {
		return "files copied while the server stood still: no file system can be mounted here"
	}
	return "images of an ext4 disk, without what was not flushed"
}

// copy returns the disk as it would be found after a loss of power at this moment. Nobody may write to it meanwhile; an
// image that the kernel changed while it was copied is copied again.
func (v *volume) copy(t *testing.T) *volume {
	t.Helper()
	c := &volume{dir: filepath.Join(t.TempDir(), "copy")}
	must.NoError(t, os.Mkdir(c.dir, 0o700))
	if v.image == "" {
		must.NoError(t, command("cp", "-a", v.dir+"/.", c.dir))
		return c
	}
	c.image = filepath.Join(t.TempDir(), "copy.img")
	for range 20 {
		must.NoError(t, command("cp", "--sparse=always", v.image, c.image))
		if sameFiles(t, v.image, c.image) {
			return c
		}
	}
	t.Fatal("the image does not stand still")
	return nil
}

func sameFiles(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.Open(a)
	must.NoError(t, err)
	defer one.Close()
	other, err := os.Open(b)
	must.NoError(t, err)
	defer other.Close()
	left, right := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		n, err := io.ReadFull(one, left)
		m, _ := io.ReadFull(other, right)
		if !bytes.Equal(left[:n], right[:m]) {
			return false
		}
		if err != nil {
			return true
		}
	}
}

// newSmallDisk mounts a file system in memory that can be filled, or returns false where that is not allowed.
func newSmallDisk(t *testing.T, size string) (dir string, own bool) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Logf("no small disk can be mounted here: %v", err)
		return dir, false
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, true
}
