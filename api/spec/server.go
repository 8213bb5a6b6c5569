package spec

import (
	"bytes"
	"encoding/json"
	"errors"
)

// WithServer returns a YAML document whose only server is the URL. Everything else keeps its bytes.
func WithServer(document []byte, url string) ([]byte, error) {
	const key = "\nservers:\n"
	start := bytes.Index(document, []byte(key))
	if start < 0 {
		return nil, errors.New("the document has no servers")
	}
	end := start + len(key)
	for end < len(document) && (document[end] == ' ' || document[end] == '\n') {
		line := bytes.IndexByte(document[end:], '\n')
		if line < 0 {
			return nil, errors.New("the document ends with its servers")
		}
		end += line + 1
	}
	quoted, err := json.Marshal(url) // a JSON string is a YAML string
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{
		document[:start], []byte(key), []byte("  - url: "), quoted, []byte("\n"), document[end:],
	}, nil), nil
}
