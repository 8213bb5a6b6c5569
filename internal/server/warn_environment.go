package server

import (
	"flag"
	"slices"
	"strings"
)

// Variables that begin like those of settings and belong to others: to the commands that call the integration API, to
// samples, to the files in deploy, and by their beginning to tests.
var (
	otherVariables = []string{
		"ASSAY_SERVER", "ASSAY_KEY", "ASSAY_CONFIG", "ASSAY_WEBHOOK_SECRET", "ASSAY_STAFF_TOKEN",
		"ASSAY_SITE", "ASSAY_NODES", "ASSAY_OPS_PORT", "ASSAY_IMAGE",
	}
	variablesOfTests = []string{"ASSAY_TEST_", "ASSAY_BENCH_", "ASSAY_UPDATE_GOLDEN"}
)

// UnknownVariables returns the names in an environment that begin like those of settings and are none.
func UnknownVariables(environment []string) (unknown []string) {
	var known []string
	var s Settings
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	s.Bind(fs)
	fs.VisitAll(func(f *flag.Flag) { known = append(known, variableOf(f.Name)) })
	others := slices.Concat(variablesOfTests, serviceLinks(environment))
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "ASSAY_") || slices.Contains(known, name) || slices.Contains(otherVariables, name) {
			continue
		}
		if !slices.ContainsFunc(others, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// serviceLinks returns the beginnings of the variables with which Kubernetes tells of its services: for one that is
// called assay they begin like settings.
func serviceLinks(environment []string) (prefixes []string) {
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if service, ok := strings.CutSuffix(name, "_SERVICE_HOST"); ok {
			prefixes = append(prefixes, service+"_SERVICE_", service+"_PORT")
		}
	}
	return prefixes
}
