package webhook

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/fault"
)

const defaultPort = "443"

// URL is a syntactically valid endpoint URL. Whether its host may be called is decided by netguard.
type URL struct {
	raw  string
	Host string // without port and brackets, as written
	Port string // in decimal digits: that of https when none is written
}

// String returns the URL as it was written.
func (u URL) String() string { return u.raw }

// Canonical returns the form in which two spellings of one URL are equal; see CanonicalURL.
func (u URL) Canonical() string { return CanonicalURL(u.raw) }

// CheckURL parses the URL of an endpoint or returns the rule that raw breaks: an absolute https URI of at most 2048
// characters with a host, without user information or fragment. field is its path in the request.
func CheckURL(field, raw string) (URL, *fault.Problem) { return checkURL(field, raw, false) }

// CheckLink is CheckURL for an address that people follow, which may have a fragment.
func CheckLink(field, raw string) *fault.Problem {
	_, problem := checkURL(field, raw, true)
	return problem
}

func checkURL(field, raw string, link bool) (URL, *fault.Problem) {
	problem := func(code, message string) (URL, *fault.Problem) {
		return URL{}, &fault.Problem{Field: field, Code: code, Message: message}
	}
	if n := utf8.RuneCountInString(raw); n > MaxURL {
		return problem("max_length", fmt.Sprintf("must be at most %d characters, has %d", MaxURL, n))
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !isScheme(scheme) {
		return problem("format", "must be an absolute URL")
	}
	if !strings.EqualFold(scheme, "https") {
		return problem("https", "must use https")
	}
	rest, fragment, has := strings.Cut(rest, "#")
	if has && !link {
		return problem("fragment", "must not have a fragment")
	}
	authority, tail := cutAuthority(rest)
	if strings.Contains(authority, "@") {
		return problem("userinfo", "must not contain user information")
	}
	if !isURIText(tail) || !isURIText(fragment) {
		return problem("format", "must be a URI: other characters than those of RFC 3986 must be percent-encoded")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.User != nil {
		return problem("format", "must be a URI")
	}
	host := u.Hostname()
	if host == "" {
		return problem("format", "must name a host")
	}
	if !utf8.ValidString(host) {
		return problem("format", "must name its host in UTF-8")
	}
	if !isPort(strings.TrimPrefix(u.Host, hostPart(u.Host))) {
		return problem("port", "must have a port from 1 to 65535, or none")
	}
	return URL{raw: raw, Host: host, Port: cmp.Or(u.Port(), defaultPort)}, nil
}

// CheckTokenURL is CheckURL for an OAuth2 token URL, which must begin with https:// in lower case.
func CheckTokenURL(field, raw string) (URL, *fault.Problem) {
	u, problem := CheckURL(field, raw)
	if problem == nil && !strings.HasPrefix(raw, "https://") {
		return URL{}, &fault.Problem{Field: field, Code: "https", Message: "must start with https://"}
	}
	return u, problem
}

// CanonicalURL returns raw with scheme and host in lower case and without the default port: an API key has one
// endpoint per canonical URL. Path and query are left alone, because only the receiver knows what is equal there.
// raw must have passed CheckURL.
func CanonicalURL(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	authority, tail := cutAuthority(rest)
	authority = strings.ToLower(authority)
	if host := hostPart(authority); authority == host+":"+defaultPort {
		authority = host
	}
	return strings.ToLower(scheme) + "://" + authority + tail
}

// cutAuthority splits what follows "://" into host with port, and the rest.
func cutAuthority(s string) (authority, tail string) {
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// hostPart returns an authority without its port; the brackets of an IPv6 address stay.
func hostPart(authority string) string {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority
	}
	return authority[:colon]
}

// isPort reports whether s is empty or a colon with a port number in canonical form.
func isPort(s string) bool {
	if s == "" {
		return true
	}
	n, err := strconv.ParseUint(s[1:], 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s[1:]
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isLetter(c) && (i == 0 || !isDigit(c) && !strings.ContainsRune("+-.", rune(c))) {
			return false
		}
	}
	return s != ""
}

// isURIText reports whether s has only characters allowed by RFC 3986, and valid percent escapes.
func isURIText(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isLetter(c) || isDigit(c) || strings.IndexByte("-._~:/?[]@!$&'()*+,;=", c) >= 0:
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
