package server

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

const (
	fileSuffix    = "-file" // of the flag that names the file of a secret
	maxSecretFile = 64 << 10
)

// bindSecret adds a setting that may hold a secret, and a second flag that reads it from a file: what is in the
// command line or in the environment of a process can be read by others. Of two given in the same place one is
// refused; a flag wins over the environment.
func (s *Settings) bindSecret(fs *flag.FlagSet, to *string, name, usage string) {
	if s.secretFiles == nil {
		s.secretFiles = make(map[string]string)
	}
	fs.StringVar(to, name, "", usage)
	fs.Var(&secretFile{settings: s, to: to, name: name}, name+fileSuffix, "`file` with the value of --"+name)
}

// secretFile is the flag for the file of a secret setting.
type secretFile struct {
	settings *Settings
	to       *string
	name     string
}

// String returns the name of the file, which is no secret.
func (f *secretFile) String() string {
	if f.settings == nil { // the zero value, which the flag package asks for
		return ""
	}
	return f.settings.secretFiles[f.name]
}

// Set reads the file; the line end after the value does not belong to it.
func (f *secretFile) Set(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	if closed := file.Close(); err == nil {
		err = closed
	}
	value := strings.TrimSpace(string(content))
	switch {
	case err != nil:
		return err
	case len(content) > maxSecretFile:
		return fmt.Errorf("%s is too large for a secret", path)
	case value == "":
		return fmt.Errorf("%s is empty", path)
	}
	*f.to = value
	f.settings.secretFiles[f.name] = path
	return nil
}

func isSecretFile(f *flag.Flag) bool {
	_, ok := f.Value.(*secretFile)
	return ok
}

// CheckFlags refuses a secret that is given on the command line both itself and as a file.
func CheckFlags(fs *flag.FlagSet) error {
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name := range given {
		if isSecretFile(fs.Lookup(name)) && given[strings.TrimSuffix(name, fileSuffix)] {
			return fmt.Errorf("--%s and --%s are both given: give one of them", strings.TrimSuffix(name, fileSuffix), name)
		}
	}
	return nil
}
