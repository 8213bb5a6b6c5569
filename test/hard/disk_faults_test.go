package hard_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// diskFault is something that a disk does under a server.
type diskFault struct {
	name string
	// begin lets it begin and returns what ends it, or an error where it cannot be brought about here.
	begin func(t *testing.T, server *program.Process, data string) (end func(), err error)

	stops   bool // nothing can be created meanwhile: 503
	unready bool // and /readyz says so
}

// The calls with which the program changes files.
const (
	flushes = "fsync,fdatasync"
	changes = "pwrite64,ftruncate,rename,renameat,renameat2,linkat,unlinkat,mkdirat"
)

var diskFaults = []diskFault{
	{name: "full", begin: fill, stops: true, unready: true},
	{name: "files may not grow (EFBIG)", begin: limitFiles, stops: true, unready: true},
	{name: "flushing fails (EIO)", begin: inject(flushes, "error=EIO"), stops: true, unready: true},
	{name: "writing fails (EIO)", begin: inject("pwrite64", "error=EIO"), stops: true, unready: true},
	{name: "renaming fails (EIO)", begin: inject("rename,renameat,renameat2,linkat", "error=EIO"), stops: true},
	{name: "read-only (EROFS)", begin: inject(changes, "error=EROFS"), stops: true, unready: true},
	{name: "slow, 200 ms for each flush", begin: inject(flushes, "delay_enter=200000")},
}

// inject makes system calls of a running server fail or last, through strace.
func inject(calls, what string) func(*testing.T, *program.Process, string) (func(), error) {
	return func(t *testing.T, server *program.Process, _ string) (func(), error) {
		t.Helper()
		path, err := exec.LookPath("strace")
		if err != nil {
			return nil, err
		}
		said := new(child.Output)
		cmd := exec.Command(path, "-f", "-o", os.DevNull, "-p", strconv.Itoa(server.PID()), "-e", "trace="+calls,
			"-e", "inject="+calls+":"+what)
		cmd.Stderr = said
		tracer, err := child.Start(cmd, syscall.SIGTERM)
		if err != nil {
			return nil, err
		}
		end := sync.OnceFunc(func() {
			if err := tracer.Signal(syscall.SIGTERM); err != nil { // it lets go of the server
				t.Error(err)
			}
			<-tracer.Done()
		})
		for deadline := time.Now().Add(time.Minute); !strings.Contains(said.String(), "attached"); {
			select {
			case <-tracer.Done():
				return nil, errors.New(strings.TrimSpace(said.String()))
			case <-time.After(10 * time.Millisecond):
			}
			if time.Now().After(deadline) {
				end()
				return nil, errors.New("strace does not attach")
			}
		}
		t.Cleanup(end)
		return end, nil
	}
}

// fill takes all room of the disk, and what becomes free meanwhile.
func fill(t *testing.T, _ *program.Process, data string) (func(), error) {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(data, &stat); err != nil {
		return nil, err
	}
	if stat.Type != unix.TMPFS_MAGIC {
		return nil, errors.New("the disk is not its own")
	}
	path := filepath.Join(filepath.Dir(data), "ballast")
	ballast, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for block := make([]byte, 4096); ; {
			if _, err := ballast.Write(block); err == nil {
				continue
			}
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	end := sync.OnceFunc(func() {
		close(stop)
		<-stopped
		_ = ballast.Close()
		must.NoError(t, os.Remove(path))
	})
	t.Cleanup(end)
	return end, nil
}

// limitFiles lets no file of the server be written behind its first byte.
func limitFiles(t *testing.T, server *program.Process, _ string) (func(), error) {
	t.Helper()
	var before unix.Rlimit
	limit := &unix.Rlimit{Cur: 1, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(server.PID(), unix.RLIMIT_FSIZE, limit, &before); err != nil {
		return nil, err
	}
	end := sync.OnceFunc(func() {
		err := unix.Prlimit(server.PID(), unix.RLIMIT_FSIZE, &before, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end, nil
}

// TestDisksFaults lets the disk of a server under load be full, fail and be slow. Whoever asks is told to come back,
// reads go on, and when it is over the service is back by itself with everything that was acknowledged.
func TestDisksFaults(t *testing.T) {
	_, seed := newRandom(t)
	dir, _ := newSmallDisk(t, pick("96m", "768m"))
	data := filepath.Join(dir, "data")
	s, server := startOn(t, data)
	s.nodes[0].broken.Store(false) // it always answers
	crowd := s.newCrowd(t, seed)
	crowd.mixed()
	for _, f := range diskFaults {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) { s.sufferDisk(t, &f, server, data) })
	}
	crowd.end()
	p := s.prove(t)
	if code := server.Stop(t); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	b := s.books
	figure(t, "Disks, after all", fmt.Sprintf("%d orders, %d verdicts, %d rounds, %d cancellations, %d photos "+
		"acknowledged", b.acknowledged(), b.verdicts, b.rounds, b.cancels, len(b.photos)),
		fmt.Sprintf("%s; %d events; `check --deep` ok; answers %s", p, p.events, &s.answers))
}

// sufferDisk lets a fault begin and end.
func (s *site) sufferDisk(t *testing.T, f *diskFault, server *program.Process, data string) {
	t.Helper()
	s.awaitOrders(t, 1)
	refused := s.answers.of("503")
	began := time.Now()
	end, err := f.begin(t, server, data)
	if err != nil {
		figure(t, "Disks, "+f.name, "not here: "+err.Error(), "-")
		return
	}
	if f.stops {
		must.Eventually(t, 2*time.Minute, "requests are refused", func() bool { return s.answers.of("503") >= refused+5 })
		s.balance(t, s.live) // reads go on
		if f.unready {
			must.Eventually(t, 2*time.Minute, "the server says that it is not ready", func() bool {
				return ready(t, server) == http.StatusServiceUnavailable
			})
		}
	} else {
		s.awaitOrders(t, 5)
	}
	time.Sleep(pick(0, 8*time.Second))
	lasted := time.Since(began)
	end()
	ended := time.Now()
	s.awaitOrders(t, 1)
	must.Eventually(t, 2*time.Minute, "the server is ready", func() bool { return ready(t, server) == http.StatusOK })
	back := time.Since(ended)
	figure(t, "Disks, "+f.name, fmt.Sprintf("%.0f s", lasted.Seconds()), fmt.Sprintf("%d requests refused with 503, none "+
		"failed otherwise; service back by itself %.1f s after its end", s.answers.of("503")-refused, back.Seconds()))
}

// ready returns the status of /readyz, or 0 without an answer.
func ready(t *testing.T, server *program.Process) int {
	t.Helper()
	n := newNode(callTimeout)
	n.moveTo(server.Ops)
	defer n.client.CloseIdleConnections()
	return n.send(t.Context(), &request{method: http.MethodGet, path: "/readyz"}).status
}

// TestDisksReadOnly lets the file system of a server under load fail, so that the kernel makes it read-only, as it does
// after an error of the disk. After a repair everything that was acknowledged is there.
func TestDisksReadOnly(t *testing.T) {
	_, seed := newRandom(t)
	disk := newVolume(t)
	if disk.image == "" {
		figure(t, "Disks, file system gone read-only", "not here: no file system can be mounted", "-")
		return
	}
	s, server := startOn(t, filepath.Join(disk.dir, "data"))
	crowd := s.newCrowd(t, seed)
	crowd.mixed()
	s.awaitOrders(t, pick(12, 300))
	server.Signal(t, syscall.SIGSTOP) // so that no flush is under way: of that the kernel may say that it was done
	must.NoError(t, command("mount", "-o", "remount,abort", disk.dir))
	server.Signal(t, syscall.SIGCONT)
	refused := s.answers.of("503")
	must.Eventually(t, 2*time.Minute, "requests are refused", func() bool { return s.answers.of("503") >= refused+5 })
	s.balance(t, s.live)
	must.Eventually(t, 2*time.Minute, "the server says that it is not ready", func() bool {
		return ready(t, server) == http.StatusServiceUnavailable
	})
	server.Kill(t)
	if result := s.Run(t, "serve"); result.ExitCode == 0 || !strings.Contains(result.Stderr, "read-only") {
		t.Errorf("a start on it ends with %d: %s", result.ExitCode, result.Stderr)
	}
	disk.unmount(t)
	var exit *exec.ExitError
	if err := command("e2fsck", "-fy", disk.image); err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
		t.Fatal(err)
	}
	must.NoError(t, disk.mount())
	server = s.Start(t)
	s.nodes[0].moveTo(server.HTTP)
	s.awaitOrders(t, 5)
	crowd.end()
	p := s.prove(t)
	if code := server.Stop(t); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	figure(t, "Disks, file system gone read-only", fmt.Sprintf("an ext4 that the kernel gave up under load; %d orders, "+
		"%d verdicts, %d photos acknowledged", s.books.acknowledged(), s.books.verdicts, len(s.books.photos)),
		fmt.Sprintf("503 meanwhile, reads go on, /readyz 503, a start is refused; after a repair %s; `check --deep` ok", p))
}
