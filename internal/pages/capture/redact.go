package capture

import (
	"net/url"
	"strings"
)

// RedactPath returns an escaped path without the secret that the address of a capture link has.
func RedactPath(path string) string {
	if isAPI(path) { // most requests: nothing is unescaped for them
		return path
	}
	plain, _ := url.PathUnescape(path) // it could be, or there would be no path
	if isAPI(plain) || !strings.Contains(plain, segment+"/") {
		return path
	}
	parts, secret := strings.Split(path, "/"), false
	for i, part := range parts { // in whatever form: an address that is put together badly has two slashes
		plain, _ := url.PathUnescape(part)
		switch {
		case secret && part != "", strings.Contains(plain, segment+"/"):
			parts[i], secret = "-", false
		case plain == segment:
			secret = true
		}
	}
	return strings.Join(parts, "/")
}

// isAPI reports whether a path is of an API: there the same word is a customer's reference.
func isAPI(path string) bool { return strings.HasPrefix(path, "/v1/") }
