package host

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// UnmapProgram takes the pages of the program's own file out of this process's memory: most of them were only needed
// for its start, and stay in the system's cache of files. Those that are needed again are mapped when they are touched.
func UnmapProgram() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer func() { _ = maps.Close() }() // only read
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// 00400000-01c85000 r-xp 00000000 fe:00 9978035    /usr/bin/assay
		var start, end uintptr
		var access string
		line := lines.Text()
		if _, err := fmt.Sscanf(line, "%x-%x %s", &start, &end, &access); err != nil ||
			strings.Contains(access, "w") || !strings.HasSuffix(line, " "+program) {
			continue
		}
		if _, _, failed := unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_DONTNEED); failed != 0 {
			return failed
		}
	}
	return nil
}
