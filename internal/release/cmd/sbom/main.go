// Command sbom writes the bill of materials of a program: sbom PROGRAM VERSION SECONDS. It is run in the folder of the
// repository; SECONDS is when the commit was made, in Unix time.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/release"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("usage: sbom PROGRAM VERSION SECONDS")
	}
	seconds, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return err
	}
	modules, err := release.Linked(context.Background(), ".")
	if err != nil {
		return err
	}
	return release.WriteBOM(os.Stdout, arguments[0], arguments[1], time.Unix(seconds, 0), modules)
}
