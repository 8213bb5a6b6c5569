package photo

import (
	"fmt"
	"net/url"

	"github.com/assayhq/assay/internal/domain/fault"
)

// Codes of the faults of this package. Those in capitals are so by contract.
const (
	CodeEmptyFile          = "empty-photo-file"
	CodeInvalidFileType    = "INVALID_FILE_TYPE"
	CodeResolutionMissing  = "RESOLUTION_MISSING"
	CodeResolutionTooLarge = "RESOLUTION_TOO_LARGE"
	CodeFileTooLarge       = "FILE_TOO_LARGE"
	CodeUnsupportedURL     = "unsupported-photo-url"
)

// EmptyFile refuses a file without a byte.
var EmptyFile = fault.New(fault.Invalid, CodeEmptyFile, "The file is empty.")

// InvalidFileType refuses a file that is in none of the formats.
var InvalidFileType = fault.New(fault.Invalid, CodeInvalidFileType,
	"The file is not a supported image. Supported formats: JPEG, PNG, WebP, HEIC, HEIF, AVIF.").
	With("allowed_formats", Formats)

// damaged refuses a file that begins like one of the formats and does not go on as one.
func damaged(f Format, problem string) *fault.Error {
	return fault.New(fault.Invalid, CodeInvalidFileType,
		"The file begins like a supported image, but "+problem+".").
		With("allowed_formats", Formats).With("format", f)
}

// ResolutionMissing refuses a file of a known format that does not tell its width and height.
func ResolutionMissing(f Format) *fault.Error {
	return fault.New(fault.Invalid, CodeResolutionMissing, "The width and height of the image cannot be read.").
		With("format", f)
}

// ResolutionTooLarge refuses an image over MaxSide or MaxPixels.
func ResolutionTooLarge(width, height int) *fault.Error {
	return fault.New(fault.Invalid, CodeResolutionTooLarge,
		fmt.Sprintf("The image has %d x %d pixels. At most %d on a side and %d in all are allowed.",
			width, height, MaxSide, MaxPixels)).
		With("width", width).With("height", height).
		With("max_side", MaxSide).With("max_pixels", MaxPixels)
}

// FileTooLarge refuses a file over the active limit for one file.
func FileTooLarge(maxBytes int64) *fault.Error {
	return fault.New(fault.TooLarge, CodeFileTooLarge,
		fmt.Sprintf("The file is larger than %d bytes.", maxBytes)).
		With("max_bytes", maxBytes)
}

// Unsupported refuses a photo URL of a request: one that is not ours, or that names no photo of the caller. field is
// its path in the request, such as photos[3].url. The URL is not repeated, for it may hold credentials;
// details.reason says what is wrong with it: credentials, query, fragment, or not-managed for everything else, so that
// another account's photo looks like one that never was.
func Unsupported(field, raw string) *fault.Error {
	return fault.New(fault.Invalid, CodeUnsupportedURL,
		field+" must be a URL returned by photo upload, unchanged.").
		With("field", field).With("reason", unsupportedReason(raw))
}

func unsupportedReason(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "not-managed"
	case u.User != nil:
		return "credentials"
	case u.RawQuery != "" || u.ForceQuery:
		return "query"
	case u.Fragment != "":
		return "fragment"
	}
	return "not-managed"
}
