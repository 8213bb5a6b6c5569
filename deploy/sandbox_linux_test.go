package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// TestSandboxInTheUnit decodes a photo under the filter of system calls that the unit asks systemd for: the decoder can
// still put itself into its own sandbox, and works.
func TestSandboxInTheUnit(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers of system calls are those of amd64")
	}
	numbers := filterOf(t, requires.Program(t, "systemd", "systemd-analyze"))
	log := new(child.Output)
	h := imaging.NewHelper(slog.New(slog.NewTextHandler(log, nil)), os.Args[0], asTheUnit, numbers, program.Build(t),
		"derive-images")
	t.Cleanup(h.Close)
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	var images map[imaging.Size][]byte
	var err error
	for range 6 { // a photo has ten seconds, which are few on a busy machine
		if images, err = h.Derive(context.Background(), bytes.NewReader(file), photo.HEIC, imaging.Sizes); err == nil {
			break
		}
	}
	if err != nil || len(images) != len(imaging.Sizes) {
		t.Errorf("%d images, %v", len(images), err)
	}
	if log.String() != "" {
		t.Errorf("under the unit: %s", log)
	}
}

var (
	filterLine   = regexp.MustCompile(`(?m)^SystemCallFilter=(~?)(.*)$`)
	numberOfCall = regexp.MustCompile(`(?m)^\s*SYS_([A-Z0-9_]+)\s*=\s*(\d+)$`)
)

// filterOf returns the numbers of the system calls that the unit allows, separated by commas.
func filterOf(t *testing.T, analyze string) string {
	t.Helper()
	unit, err := os.ReadFile("systemd/assay.service")
	must.NoError(t, err)
	output, err := exec.CommandContext(t.Context(), analyze, "syscall-filter", "--no-pager").Output()
	must.NoError(t, err)
	groups, group := make(map[string][]string), ""
	for line := range strings.Lines(string(output)) {
		switch word := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "@"):
			group = word
		case strings.HasPrefix(line, " ") && word != "" && !strings.HasPrefix(word, "#"):
			groups[group] = append(groups[group], word)
		}
	}
	allowed := make(map[string]bool)
	var set func(word string, value bool)
	set = func(word string, value bool) {
		if !strings.HasPrefix(word, "@") {
			allowed[word] = value
		}
		for _, member := range groups[word] {
			set(member, value)
		}
	}
	for _, line := range filterLine.FindAllStringSubmatch(string(unit), -1) {
		for _, word := range strings.Fields(line[2]) {
			set(word, line[1] == "")
		}
	}
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	must.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(module)), "unix", "zsysnum_linux_amd64.go"))
	must.NoError(t, err)
	var numbers []string
	for _, call := range numberOfCall.FindAllStringSubmatch(string(source), -1) {
		if allowed[strings.ToLower(call[1])] {
			numbers = append(numbers, call[2])
		}
	}
	if len(numbers) < 100 {
		t.Fatalf("the unit allows %v", slices.Sorted(maps.Keys(allowed)))
	}
	return strings.Join(numbers, ",")
}

// asTheUnit is the argument with which this program limits itself as systemd would, and becomes another.
const asTheUnit = "as-the-unit"

func init() {
	if len(os.Args) > 3 && os.Args[1] == asTheUnit {
		fmt.Fprintln(os.Stderr, becomeLimited(os.Args[2], os.Args[3:]))
		os.Exit(1)
	}
}

// becomeLimited allows the system calls with the numbers, refuses all others with EPERM, and becomes the command.
func becomeLimited(numbers string, command []string) error {
	runtime.LockOSThread()
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	for number := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return err
		}
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(n), Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	}
	filter = append(filter, unix.SockFilter{
		Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM),
	})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return syscall.Exec(command[0], command, nil)
}
