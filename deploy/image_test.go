package deploy_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// imageConfig is what an image says about its process.
type imageConfig struct {
	Architecture string `json:"architecture"`
	Config       struct {
		User, WorkingDir     string
		Env, Entrypoint, Cmd []string
		Healthcheck          struct{ Test []string }
	} `json:"config"`
}

// TestImage builds the image without Docker, lets a library read it as registries do, and runs its file system as a
// container runtime would: read-only except for the volume, as its user, without privileges, in namespaces of its own.
func TestImage(t *testing.T) {
	requires.Engine(t, "namespaces of Linux")
	folder := t.TempDir()
	archive, again := filepath.Join(folder, "image.tar"), filepath.Join(folder, "again.tar")
	for _, out := range []string{archive, again} {
		build := exec.CommandContext(t.Context(), "go", "run", "./image", "-root", "..",
			"-program", program.Build(t), "-o", out)
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build the image: %v\n%s", err, output)
		}
	}
	if !slices.Equal(read(t, archive), read(t, again)) {
		t.Error("a second build has other bytes")
	}
	var about imageConfig
	lint(t, "image", archive, &about)
	c := about.Config
	if c.User != "65532:65532" || len(c.Healthcheck.Test) < 2 || c.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("the image says %+v", about)
	}
	variables := map[string]string{}
	for _, pair := range c.Env {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	checkSettings(t, "Dockerfile", variables)

	root := unpackImage(t, archive)
	port, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	// The ports of the image may be taken here.
	box := &container{root: root, user: c.User, env: append(slices.Clone(c.Env), "ASSAY_LISTEN=127.0.0.1:0",
		fmt.Sprintf("ASSAY_OPS_LISTEN=127.0.0.1:%d", port))}
	if code, output := box.run(t, c.Healthcheck.Test[1:]); code == 0 {
		t.Errorf("the health check says of a container that does not run: %s", output)
	}
	server, output := box.start(t, append(slices.Clone(c.Entrypoint), c.Cmd...))
	address := waitForAddress(t, server, output)
	for _, arguments := range [][]string{c.Healthcheck.Test[1:], {"/assay", "healthcheck", "--ready", "--json"}} {
		if code, output := box.run(t, arguments); code != 0 {
			t.Errorf("%v: exit code %d\n%s", arguments, code, output)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/docs", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("/docs is %d, %v", response.StatusCode, err)
	}
	if err := server.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-server.Done()
	if code := server.ExitCode(); code != 0 {
		t.Errorf("after SIGTERM the exit code is %d\n%s", code, output)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

var listening = regexp.MustCompile(`(?m)^listening http=(\S+) `)

func waitForAddress(t *testing.T, server *child.Process, output *child.Output) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if match := listening.FindStringSubmatch(output.String()); match != nil {
			return match[1]
		}
		select {
		case <-server.Done():
			t.Fatalf("the container has ended with %d\n%s", server.ExitCode(), output)
		default:
		}
	}
	t.Fatalf("the container is not ready\n%s", output)
	return ""
}

// unpackImage returns the file system of an image, with owners where this process may set them.
func unpackImage(t *testing.T, archive string) string {
	t.Helper()
	outside, root := t.TempDir(), t.TempDir()
	extract(t, strings.NewReader(string(read(t, archive))), outside)
	var manifest []struct{ Layers []string }
	if err := json.Unmarshal(read(t, filepath.Join(outside, "manifest.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	for _, layer := range manifest[0].Layers {
		f, err := os.Open(filepath.Join(outside, layer))
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		extract(t, unpacked, root)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func extract(t *testing.T, from io.Reader, to string) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, 0o600)
			}
		}
		if err == nil {
			err = os.Chmod(path, os.FileMode(h.Mode))
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(path, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// container runs processes in the file system of an image.
type container struct {
	root, user string
	env        []string
}

// enter makes of the process what a container runtime makes: the volume and what every container has are mounted, the
// rest cannot be written.
const enter = `set -e
root=$1 user=$2; shift 2
mkdir -p "$root/proc" "$root/dev"
mount --bind "$root" "$root"
mount --bind "$root/data" "$root/data"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot $user "$root" "$@"`

func (c *container) command(arguments []string) *exec.Cmd {
	user := "--userspec=" + c.user
	attributes := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC}
	if os.Geteuid() != 0 {
		// Whoever is not root is so in a namespace, where no other user exists.
		user = "--groups="
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd := exec.Command("sh", append([]string{"-c", enter, "sh", c.root, user}, arguments...)...)
	cmd.SysProcAttr = attributes
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, c.env...)
	return cmd
}

// run runs a process to its end.
func (c *container) run(t *testing.T, arguments []string) (code int, output string) {
	t.Helper()
	cmd := c.command(arguments)
	combined, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(combined)
}

// start starts a process, which is killed at the end of the test.
func (c *container) start(t *testing.T, arguments []string) (*child.Process, *child.Output) {
	t.Helper()
	return child.Run(t, c.command(arguments))
}
