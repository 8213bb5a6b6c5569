// Command notice writes the NOTICE of a release: the licences of everything that is linked into the program. It is run
// in the folder of the repository.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/assayhq/assay/internal/release"
)

func main() {
	modules, err := release.Linked(context.Background(), ".")
	if err == nil {
		err = release.WriteNotice(os.Stdout, ".", modules)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}
