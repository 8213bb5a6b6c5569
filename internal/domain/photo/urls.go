package photo

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// maxURLChars is the longest photo URL that a request may carry, so no longer one may be handed out.
const maxURLChars = 2048

// URLs makes and recognises managed URLs: the media address of this service, a slash and a managed name.
type URLs struct {
	prefix string // ends with a slash
}

// NewURLs takes the media address. It must be https and hold nothing that a client could rightly rewrite: no
// credentials, query, fragment, escapes, dot segments or empty path elements. A trailing slash makes no difference;
// the host is taken in lower case and without the default port.
func NewURLs(base string) (URLs, error) {
	u, err := url.Parse(base)
	if err != nil {
		return URLs{}, errors.New("media URL is malformed") // the parser's error would repeat credentials
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), ":443")
	dir := strings.TrimSuffix(u.Path, "/")
	switch {
	case u.User != nil:
		return URLs{}, fmt.Errorf("media URL must not hold credentials (host %s)", u.Host)
	case u.Scheme != "https":
		return URLs{}, fmt.Errorf("media URL must start with https://, not %q", base)
	case u.Hostname() == "" || strings.HasSuffix(host, ":") || strings.ContainsFunc(host, isNotASCII):
		return URLs{}, fmt.Errorf("media URL must name a host in ASCII: %q", base)
	case strings.ContainsAny(base, "?#"):
		return URLs{}, fmt.Errorf("media URL must have no query and no fragment: %q", base)
	case dir != "" && path.Clean(dir) != dir, u.EscapedPath() != u.Path:
		return URLs{}, fmt.Errorf("media URL must have a plain path without escapes and dot segments: %q", base)
	}
	prefix := "https://" + host + dir + "/"
	if longest := len(prefix) + nameChars + len(".heic"); longest > maxURLChars {
		return URLs{}, fmt.Errorf("media URL is too long: photo URLs would have %d characters, over %d",
			longest, maxURLChars)
	}
	return URLs{prefix: prefix}, nil
}

func isNotASCII(r rune) bool { return r > unicode.MaxASCII }

// URL returns the managed URL of a managed name.
func (u URLs) URL(name string) string { return u.prefix + name }

// Parse returns the managed name in a managed URL. It accepts exactly what URL returns and no other spelling of it, so
// that one photo has one URL.
func (u URLs) Parse(raw string) (name string, ok bool) {
	name, ok = strings.CutPrefix(raw, u.prefix)
	if !ok || u.prefix == "" {
		return "", false
	}
	if _, ok := ParseName(name); !ok {
		return "", false
	}
	return name, true
}
