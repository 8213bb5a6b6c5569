package ui

// ErrorDocs is where the documentation explains an error code: its cause and its cure.
func ErrorDocs(code string) string { return "/docs/errors#" + code }
