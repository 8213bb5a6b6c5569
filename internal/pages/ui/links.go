package ui

import "strings"

// ErrorURL is where the guides explain an error code, with its causes and cures: for pages and mails that show one.
func ErrorURL(code string) string { return "/docs/errors#" + strings.ToLower(code) }
