package host_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestUnmapProgram checks that fewer pages of the program's file are resident afterwards, and that the program goes on.
func TestUnmapProgram(t *testing.T) {
	before := filePages(t)
	must.NoError(t, host.UnmapProgram())
	if after := filePages(t); after >= before {
		t.Errorf("%d KiB of files were resident, now %d", before, after)
	}
}

// filePages returns how much of this process's resident memory is of files, in KiB.
func filePages(t *testing.T) (size int) {
	t.Helper()
	status, err := os.Open("/proc/self/status")
	must.NoError(t, err)
	defer func() { _ = status.Close() }()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "RssFile:") {
			_, err = fmt.Sscanf(lines.Text(), "RssFile: %d kB", &size)
			must.NoError(t, err)
		}
	}
	if size == 0 {
		t.Fatal("the size is not told")
	}
	return size
}
