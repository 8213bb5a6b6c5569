package server

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"
)

// FromEnvironment sets what the environment gives. It is called when the flags are parsed: the variable of a flag that
// was given is not looked at, so that a flag wins over a wrong one, too. names are those of the settings among the
// flags.
func FromEnvironment(fs *flag.FlagSet, names map[string]bool, lookup func(string) (string, bool)) error {
	var problems []error
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[settingOf(f)] = true })
	fs.VisitAll(func(f *flag.Flag) {
		if !names[f.Name] || given[settingOf(f)] {
			return
		}
		name := variableOf(f.Name)
		value, ok := lookup(name)
		if !ok {
			return
		}
		if own := variableOf(settingOf(f)); own != name && value != "" {
			if other, _ := lookup(own); other != "" {
				problems = append(problems, fmt.Errorf("%s and %s are both set: set one of them", own, name))
			}
		}
		switch err := f.Value.Set(value); {
		case err != nil && value == "": // it has no empty value, so the variable counts as not set
			_ = f.Value.Set(f.DefValue) // Set of the flag package has changed it all the same
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %s", name, FlagProblem(f, value, err)))
		}
	})
	return errors.Join(problems...)
}

// settingOf returns the name of the setting that a flag sets: its own, or that of the secret in the file.
func settingOf(f *flag.Flag) string {
	if isSecretFile(f) {
		return strings.TrimSuffix(f.Name, fileSuffix)
	}
	return f.Name
}

// variableOf returns the environment variable of a flag.
func variableOf(name string) string {
	return "ASSAY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// FlagProblem says why a flag does not take a value. The flag package only says that it does not.
func FlagProblem(f *flag.Flag, value string, err error) string {
	expected := ""
	if getter, ok := f.Value.(flag.Getter); ok {
		switch getter.Get().(type) {
		case time.Duration:
			expected = "a duration such as 90s, 10m or 24h"
		case int, int64:
			expected = "a whole number"
		case bool:
			expected = "true or false"
		}
	}
	if expected == "" {
		return err.Error()
	}
	return fmt.Sprintf("%q is not %s", value, expected)
}
