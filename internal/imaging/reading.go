package imaging

import (
	"io"

	"github.com/assayhq/assay/internal/media"
)

// reading is a file that remembers whether it could be read: a decoder's error does not tell what the file lacks from
// what the media store failed to return.
type reading struct {
	media.File
	failure error // the first one, of the media store
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if err != nil && err != io.EOF && r.failure == nil { //nolint:errorlint // the cause of a failure may be an EOF
		r.failure = err
	}
	return n, err
}
