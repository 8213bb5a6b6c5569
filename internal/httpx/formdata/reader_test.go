package formdata_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/assayhq/assay/internal/httpx/formdata"
)

// readPart is a part as a test reads it.
type readPart struct{ field, file, content string }

// request carries a body of unknown length.
func request(body io.Reader, boundary string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(body))
	r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	return r
}

// readParts reads all parts. copied lets them be written instead of read.
func readParts(t *testing.T, r *http.Request, copied bool) ([]readPart, error) {
	t.Helper()
	all, err := formdata.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	return collect(all.NextPart, func(p *formdata.Part) ([]byte, error) {
		if !copied {
			return io.ReadAll(p)
		}
		var content bytes.Buffer
		_, err := p.WriteTo(&content)
		return content.Bytes(), err
	})
}

// libraryParts are those that the standard library finds.
func libraryParts(body []byte) ([]readPart, error) {
	return collect(multipart.NewReader(bytes.NewReader(body), "b").NextPart, func(p *multipart.Part) ([]byte, error) {
		return io.ReadAll(p)
	})
}

// named is a part of either reader.
type named interface {
	FormName() string
	FileName() string
}

// collect reads parts to the last or the first that fails.
func collect[P named](
	next func() (P, error), read func(P) ([]byte, error),
) (parts []readPart, err error) {
	for {
		part, err := next()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return parts, err
		}
		content, err := read(part)
		if err != nil {
			return parts, err
		}
		parts = append(parts, readPart{part.FormName(), part.FileName(), string(content)})
	}
}

// file is a part with a file.
func file(name, content string) string {
	return "Content-Disposition: form-data; name=\"photos\"; filename=\"" + name + "\"\r\n\r\n" + content
}

func TestReader_Parts(t *testing.T) {
	large := strings.Repeat("0123456789abcde\n\r\n--", 40_000)
	const end = "\r\n--b--\r\n"
	like := "\r\n--bc\r\n--b-\r\n-b"
	for name, c := range map[string]struct {
		body string
		want []readPart
	}{
		"one":        {"--b\r\n" + file("a.jpg", "x") + end, []readPart{{"photos", "a.jpg", "x"}}},
		"no newline": {"--b\r\n" + file("a.jpg", "x") + "\r\n--b--", []readPart{{"photos", "a.jpg", "x"}}},
		"unix lines": {"--b\nContent-Disposition: form-data; name=f\n\nx\r\n--b--\n", []readPart{{"f", "", "x\r"}}},
		"preamble":   {"hello\r\n--bc\r\n --b\r\n--b  \r\n" + file("a", "") + end + "bye", []readPart{{"photos", "a", ""}}},
		"empty":      {"--b\r\n" + file("a", "") + "--b--\r\n", []readPart{{"photos", "a", ""}}},
		"none":       {"--b--\r\n", nil},
		"no file":    {"--b\r\n" + file("", "") + end, []readPart{{"photos", "", ""}}}, // a field of a form left empty
		"no header":  {"--b\r\n\r\nx" + end, []readPart{{"", "", "x"}}},
		"folders":    {"--b\r\n" + file("/etc/a.jpg", "x") + end, []readPart{{"photos", "a.jpg", "x"}}},
		"like it":    {"--b\r\n" + file("a", like) + end, []readPart{{"photos", "a", like}}},
		"large": {
			"--b\r\n" + file("a", large) + "\r\n--b\r\n" + file("b", large) + end,
			[]readPart{{"photos", "a", large}, {"photos", "b", large}},
		},
		"encoded": {
			"--b\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=41=\r\nB" + end, []readPart{{"", "", "AB"}},
		},
		"after lines": {
			"--b\r\n" + file("a", "x\r\n") + "\r\n--b \t\r\n" + file("b", "\n") + "\r\n--b--\t\r\n",
			[]readPart{{"photos", "a", "x\r\n"}, {"photos", "b", "\n"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for how, read := range map[string]func(io.Reader) io.Reader{
				"at once":     func(r io.Reader) io.Reader { return r },
				"bytes":       iotest.OneByteReader,
				"halves":      iotest.HalfReader,
				"with an EOF": iotest.DataErrReader,
			} {
				for _, copied := range []bool{false, true} {
					got, err := readParts(t, request(read(strings.NewReader(c.body)), "b"), copied)
					if err != nil || !slices.Equal(got, c.want) {
						t.Errorf("%s, copied %v: %d parts, %v; want %d", how, copied, len(got), err, len(c.want))
					}
				}
			}
		})
	}
}

// disposed is a body with one part that is described so.
func disposed(disposition string) io.Reader {
	return strings.NewReader("--b\r\nContent-Disposition: " + disposition + "\r\n\r\nx\r\n--b--")
}

const lostName = "the Content-Disposition of a part cannot be read"

func TestReader_Broken(t *testing.T) {
	whole := "--b\r\n" + file("a.jpg", "x") + "\r\n--b\r\n" + file("b.jpg", "y") + "\r\n--b--"
	for n := range len(whole) {
		if _, err := readParts(t, request(strings.NewReader(whole[:n]), "b"), n%2 == 0); err == nil {
			t.Errorf("a body that is cut off after %q is taken for a whole one", whole[:n])
		}
	}
	lost := errors.New("connection lost")
	for n := range len(whole) + 5 { // behind the final boundary as well
		body := io.MultiReader(strings.NewReader((whole + "\r\nbye")[:n]), iotest.ErrReader(lost))
		_, err := readParts(t, request(body, "b"), n%2 == 0)
		if !errors.Is(err, lost) || strings.Contains(err.Error(), "lost") {
			t.Errorf("connection lost after %d bytes: %v", n, err)
		}
	}
	for name, c := range map[string]struct {
		body io.Reader
		want string
	}{
		"more in line": {strings.NewReader("--b\r\n" + file("a", "x") + "\r\n--b c\r\n"), "more in its line"},
		"no colon":     {strings.NewReader("--b\r\nname\r\n\r\nx\r\n--b--"), "malformed MIME header"},
		"large header": {strings.NewReader("--b\r\n" + strings.Repeat("A: b\r\n", 10_000) + "\r\nx\r\n--b--"), "too large"},
		"long line":    {strings.NewReader("--b\r\nA: " + strings.Repeat("b", 1<<20) + "\r\n\r\nx\r\n--b--"), "too large"},
		"many parts":   {strings.NewReader(strings.Repeat("--b\r\n\r\n", 1001) + "--b--"), "more than 1000 parts"},
		"text":         {strings.NewReader(strings.Repeat("text ", 1<<20)), "boundary is missing"},
		"unquoted":     {disposed(`form-data; name=photos; filename=my photo.jpg`), lostName},
		"two names":    {disposed(`form-data; name="p"; filename="a.jpg"; filename="b.jpg"`), lostName},
		"charset":      {disposed(`form-data; name="p"; filename*=ISO-8859-1''f%E4.png`), lostName},
	} {
		if _, err := readParts(t, request(c.body, "b"), false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for length, want := range map[int64]error{math.MaxInt64: nil, 10: io.ErrShortBuffer} { // what a client may claim
		r := request(strings.NewReader(whole), "b")
		r.ContentLength = length
		if _, err := readParts(t, r, false); !errors.Is(err, want) {
			t.Errorf("Content-Length %d: %v, want %v", length, err, want)
		}
	}
	if _, err := formdata.NewReader(request(strings.NewReader(whole), strings.Repeat("b", 2_000))); err == nil {
		t.Error("a boundary of 2,000 characters is taken")
	}
}

// TestReader_Noise looks for usual boundaries at all distances, behind noise and what begins like one.
func TestReader_Noise(t *testing.T) {
	noise := make([]byte, 300)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	for _, boundary := range []string{"b", "----WebKitFormBoundary7MA4YWxkTrZu0gW", strings.Repeat("9f3c", 15)} {
		for n := range noise {
			content := string(noise[:n]) + "\r\n--" + boundary[:len(boundary)-1] + "\r\n-" + string(noise[:n%7])
			body := "--" + boundary + "\r\n" + file("a", content) + "\r\n--" + boundary + "--\r\n"
			got, err := readParts(t, request(strings.NewReader(body), boundary), n%2 == 0)
			if want := []readPart{{"photos", "a", content}}; err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d bytes before %q: %q, %v", n, boundary, got, err)
			}
		}
	}
}

// TestReader_Skip reads a part while another one was not read to its end.
func TestReader_Skip(t *testing.T) {
	body := "--b\r\n" + file("a", strings.Repeat("x", 1<<20)) + "\r\n--b\r\n" + file("b", "y") + "\r\n--b--\r\n"
	all, err := formdata.NewReader(request(strings.NewReader(body), "b"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := all.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := first.Read(make([]byte, 10)); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	second, err := all.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := first.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v from a part that is over", n, err)
	}
	if content, err := io.ReadAll(second); string(content) != "y" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}

// FuzzReader compares with the standard library, which takes a body for whole that ends before the final
// boundary.
func FuzzReader(f *testing.F) {
	for _, body := range []string{
		"--b\r\n" + file("a", "x\r\n--bc") + "\r\n--b--\r\n", "--b\n\nx\n--b--", "pre\r\n--b \r\nA: b\r\n c\r\n\r\n--b--",
		"--b\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=41=\r\n\r\n--b--",
	} {
		f.Add([]byte(body), uint8(3))
	}
	f.Fuzz(func(t *testing.T, body []byte, step uint8) {
		got, err := readParts(t, request(&steps{body, int(step) + 1}, "b"), step%2 == 0)
		want, wantErr := libraryParts(body)
		if err == nil && (wantErr != nil || !slices.Equal(got, want)) {
			t.Errorf("%q: %q, the library has %q, %v", body, got, want, wantErr)
		}
		if err != nil && err.Error() == lostName { // which the library passes over
			return
		}
		if err != nil && wantErr == nil && bytes.HasSuffix(body, []byte("\n--b--\r\n")) {
			t.Errorf("%q: %v, the library has %q", body, err, want)
		}
	})
}

// steps reads some bytes at a time.
type steps struct {
	rest []byte
	n    int
}

func (s *steps) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest[:min(s.n, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}
