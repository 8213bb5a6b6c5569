package input

import (
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
)

// maxAnnounced is how much memory a body gets for what its header says of its length.
const maxAnnounced = 64 << 10

// ReadBody returns the bytes of a JSON body, at most MaxBody of them. The declared content type must be JSON in UTF-8
// or absent, unless there is no body; whether the bytes are JSON is ParseObject's to say. Every failure is the
// client's: a bad-request fault.
func ReadBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	return readBody(r)
}

// CheckEncoding refuses a body that is compressed.
func CheckEncoding(r *http.Request) error {
	for _, value := range r.Header["Content-Encoding"] {
		if value != "" && !strings.EqualFold(value, "identity") {
			return fault.BadRequest("Content-Encoding must be absent: send the body as it is, not compressed.")
		}
	}
	return nil
}

// ReadObject returns the JSON object that is the body.
func ReadObject(r *http.Request) (Object, error) {
	body, err := ReadBody(r)
	if err != nil {
		return Object{}, err
	}
	return ParseObject(body)
}

func readBody(r *http.Request) ([]byte, error) {
	if err := checkContentType(r.Header["Content-Type"]); err != nil {
		return nil, err
	}
	if err := CheckEncoding(r); err != nil {
		return nil, err
	}
	if r.ContentLength > MaxBody {
		return nil, tooLarge()
	}
	size := 512
	if r.ContentLength > 0 {
		// One more, to see the end without growing.
		size = min(int(r.ContentLength)+1, maxAnnounced)
	}
	body := make([]byte, 0, size)
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > MaxBody:
			return nil, tooLarge()
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, fault.BadRequest("The body could not be read to its end.").Because(err)
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}

func tooLarge() *fault.Error {
	return fault.BadRequest("The body is larger than 1 MiB.").With("max_bytes", MaxBody)
}

// checkContentType accepts no content type, or application/json with no charset but UTF-8.
func checkContentType(values []string) error {
	switch len(values) {
	case 0:
		return nil
	case 1:
	default:
		return fault.BadRequest("Content-Type must be given only once.")
	}
	switch values[0] {
	case "", "application/json", "application/json; charset=utf-8":
		return nil
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || media != "application/json" {
		return fault.BadRequest("Content-Type must be application/json.")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return fault.BadRequest("The charset of a JSON body must be utf-8.")
	}
	return nil
}
