package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"golang.org/x/sync/errgroup"
)

// TestUploadMemory uploads far more bytes than the server may use as memory.
func TestUploadMemory(t *testing.T) {
	const (
		uploads   = 8
		files     = 10
		photoSize = 10 << 20 // the largest that is accepted
		limit     = 100 << 20
	)
	for _, protocol := range []string{"HTTP1", "HTTP2"} {
		t.Run(protocol, func(t *testing.T) {
			s := start(t, nil)
			a := s.open(t)
			through, base := http.DefaultClient, s.URL(prefix)
			if protocol == "HTTP2" {
				through, base = &http.Client{Transport: s.transport(t)}, baseURL
			}
			c, err := client.New(base, a.Test.Key, client.WithHTTPClient(through), client.WithoutRetry())
			if err != nil {
				t.Fatal(err)
			}
			before := residentPeak(t, s.PID())
			photo := newPhoto(photoSize)
			if len(photo) != photoSize {
				t.Fatalf("the photo has %d bytes", len(photo))
			}
			var all errgroup.Group
			for range uploads {
				all.Go(func() error {
					batch := make([]client.File, files)
					for i := range batch {
						batch[i] = client.File{Name: fmt.Sprintf("%d.png", i), Content: bytes.NewReader(photo)}
					}
					results, err := c.UploadPhotos(t.Context(), batch...)
					for _, result := range results {
						if err == nil {
							err = result.Err()
						}
					}
					return err
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
			peak := residentPeak(t, s.PID())
			t.Logf("resident memory: %d MiB before, %d MiB at its peak", before>>20, peak>>20)
			if peak > limit {
				t.Errorf("%d uploads of %d × %d MiB took %d MiB of memory, %d MiB is the limit", uploads, files, photoSize>>20,
					peak>>20, limit>>20)
			}
		})
	}
}

// residentPeak returns the peak memory of the process in bytes.
func residentPeak(t *testing.T, pid int) int64 {
	t.Helper()
	peak, err := resident(pid, "VmHWM")
	if err != nil {
		t.Fatal(err)
	}
	return peak
}

// resident reads a memory value of a process.
func resident(pid int, name string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kibibytes << 10, err
		}
	}
	return 0, fmt.Errorf("the process has no %s", name)
}
