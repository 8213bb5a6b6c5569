// Package photo holds the rules of photo files: which formats are taken, how large an image may be, what a stored file
// is called and which URLs are ours.
//
// Everything is decided by a file's own bytes, never by its name or declared type. Nothing is decoded: the header is
// read, and the parts of the file are walked to its end, so that the work and memory spent on a file are bounded
// whatever it contains.
package photo

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
