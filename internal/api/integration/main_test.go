package integration_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// TestMain also proves, when every test has run, that each answer of the OpenAPI document was really given: an answer
// that no test has met is either not tested or not true.
func TestMain(m *testing.M) {
	fewerChecks()
	code := m.Run()
	if code == 0 && everythingRan() {
		for _, c := range integrationtest.Unseen() {
			if c.Operation == "getOpenAPI" { // served beside the API
				continue
			}
			fmt.Fprintf(os.Stderr, "FAIL: no test has met the documented answer %s\n", c)
			code = 1
		}
	}
	os.Exit(code)
}

// fewerChecks keeps the properties quick: each check of them is a series of requests. -rapid.checks overrules it.
func fewerChecks() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
}

func everythingRan() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short() && !requires.Fast()
}
