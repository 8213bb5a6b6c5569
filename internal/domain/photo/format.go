// Package photo holds the rules of photo files: which formats are taken, how large an image may be, what a stored file
// is called and which URLs are ours.
//
// Everything is decided by a file's own bytes, never by its name or declared type. Nothing is decoded: the header is
// read, and the parts of the file are walked to its end, so that the work and memory spent on a file are bounded
// whatever it contains.
package photo

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
)

// Format is an image format that the service takes.
type Format string

// The formats. HEIF is the container with a codec other than HEVC and AV1, or with none named.
const (
	JPEG Format = "jpeg"
	PNG  Format = "png"
	WebP Format = "webp"
	HEIC Format = "heic"
	HEIF Format = "heif"
	AVIF Format = "avif"
)

// Formats lists the formats in the order in which they are told to callers.
var Formats = []Format{JPEG, PNG, WebP, HEIC, HEIF, AVIF}

// ContentType returns the media type under which files of the format are served.
func (f Format) ContentType() string { return "image/" + string(f) }

// Ext returns the extension of managed names, without a dot.
func (f Format) Ext() string {
	if f == JPEG {
		return "jpg"
	}
	return string(f)
}

// formatOfExt is the inverse of Ext.
func formatOfExt(ext string) (Format, bool) {
	for _, f := range Formats {
		if f.Ext() == ext {
			return f, true
		}
	}
	return "", false
}

// A managed name is what the service calls a stored file: 160 random bits as 32 characters, a dot and the extension of
// the format. It cannot be guessed, says nothing about its owner and is safe as a file name, an object key and a path
// element.
const (
	nameAlphabet = "abcdefghijklmnopqrstuvwxyz234567"
	nameBits     = 160
	nameChars    = nameBits / 5
)

var nameEncoding = base32.NewEncoding(nameAlphabet).WithPadding(base32.NoPadding)

// NewName returns a fresh managed name for a file of the format.
func NewName(f Format) string {
	var b [nameBits / 8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program where there is no randomness
	return nameEncoding.EncodeToString(b[:]) + "." + f.Ext()
}

// ParseName tells whether s is a managed name, and of which format. No other string passes: no separators, no upper
// case, no other extension.
func ParseName(s string) (Format, bool) {
	if len(s) <= nameChars || s[nameChars] != '.' {
		return "", false
	}
	for i := range nameChars {
		if strings.IndexByte(nameAlphabet, s[i]) < 0 {
			return "", false
		}
	}
	return formatOfExt(s[nameChars+1:])
}

const (
	maxOriginalName = 255 // code points
	unnamedOriginal = "photo"
)

// OriginalName returns what an uploaded file is called towards its sender: the last element of the file name that came
// with it, whichever separator the sender's system uses, without control characters, those of writing direction
// included, with U+FFFD for what is not UTF-8, cut to 255 code points. A file without a name is called photo. It is for
// display only; nothing is stored under it.
func OriginalName(filename string) string {
	isSeparator := func(r rune) bool { return r == '/' || r == '\\' }
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(filename, "\uFFFD"))
	s = strings.TrimRightFunc(s, isSeparator)
	s = s[strings.LastIndexFunc(s, isSeparator)+1:]
	if s == "" {
		return unnamedOriginal
	}
	return text.Storable(s, maxOriginalName)
}

// Stored is what is known of an uploaded photo.
type Stored struct {
	Name string
	access.Tenant
	SHA256       string
	Bytes        int64
	Width        int
	Height       int
	OriginalName string
	CreatedAt    time.Time
	Used         bool // by an order
	Erased       bool // its file is gone for good
}

// Totals is how many photos there are, and how many bytes they have.
type Totals struct{ Photos, Bytes int64 }

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
		return URLs{}, fmt.Errorf("media URL must name a host in ASCII, an international one in its xn-- form: %q", base)
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
