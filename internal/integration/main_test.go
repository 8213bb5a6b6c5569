package integration_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/assayhq/assay/internal/integration/integrationtest"
	"github.com/assayhq/assay/internal/testkit/need"
)

// TestMain also proves, when every test has run, that each answer of the OpenAPI document was really given: an answer that
// no test has met is either not tested or not true.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && everythingRan() {
		for _, c := range integrationtest.Unseen() {
			if c.Operation == "getOpenAPI" { // served beside the interface
				continue
			}
			fmt.Fprintf(os.Stderr, "FAIL: no test has met the documented answer %s\n", c)
			code = 1
		}
	}
	os.Exit(code)
}

func everythingRan() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short() && !need.Fast()
}
