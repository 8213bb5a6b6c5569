package service

import "github.com/assayhq/assay/internal/store"

// ParseID returns the stored form of an id that a person or program has given, in either case.
func ParseID(s string) (string, bool) { return store.ParseID(s) }
