package integrationtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store"
)

// Part is one part of a multipart body.
type Part struct {
	Field       string // empty: photos
	Filename    string // empty: a part without a filename
	ContentType string
	Content     []byte
}

// Upload sends parts to POST /photos.
func (c *Client) Upload(t testing.TB, parts ...Part) *Response {
	t.Helper()
	body, contentType := Multipart(t, parts...)
	return c.Post(t, "/photos", body, "Content-Type", contentType)
}

// Multipart encodes parts and returns the body with its content type.
func Multipart(t testing.TB, parts ...Part) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		if p.Field == "" {
			p.Field = "photos"
		}
		disposition := fmt.Sprintf(`form-data; name=%q`, p.Field)
		if p.Filename != "" {
			disposition += fmt.Sprintf(`; filename="%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.Filename))
		}
		h := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.ContentType != "" {
			h.Set("Content-Type", p.ContentType)
		}
		part, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(p.Content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// Photos gives the client's account n photos and returns their managed URLs. Their rows are there, their files are not:
// most rules of orders do not look at files.
func (c *Client) Photos(t testing.TB, n int) []string {
	t.Helper()
	urls, err := photo.NewURLs(MediaURL)
	if err != nil {
		t.Fatal(err)
	}
	rows, list := make([]photo.Stored, n), make([]string, n)
	for i := range rows {
		rows[i] = photo.Stored{
			Name: photo.NewName(photo.JPEG), Tenant: c.Key.Tenant, SHA256: strings.Repeat("0", 64), Bytes: 1, Width: 1,
			Height: 1, OriginalName: "photo.jpg", CreatedAt: c.World.Clock.Now(),
		}
		list[i] = urls.URL(rows[i].Name)
	}
	if err := c.World.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertPhotos(rows) }); err != nil {
		t.Fatal(err)
	}
	return list
}

// StoredFiles returns the managed names of the files in the media store.
func (w *World) StoredFiles(t testing.TB) []string {
	t.Helper()
	var names []string
	for name, err := range w.Media.Names(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// StagedFiles returns the files that wait in the staging folder.
func (w *World) StagedFiles(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Clean(w.Media.StagingDir()))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// PNGHeader returns the beginning of a PNG image of any size: all that the service reads of it.
func PNGHeader(width, height uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, width)
	b = binary.BigEndian.AppendUint32(b, height)
	return append(b, 8, 2, 0, 0, 0, 0, 0, 0, 0)
}

// WebPHeader returns the beginning of a lossless WebP image.
func WebPHeader(width, height uint32) []byte {
	bits := binary.LittleEndian.AppendUint32([]byte{0x2f}, (width-1)|(height-1)<<14)
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(bits)))
	b = append(b, "WEBPVP8L"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(bits)))
	return append(b, bits...)
}

// HEIFHeader returns the beginning of an image in the HEIF container with the brand heic, mif1 or avif.
func HEIFHeader(brand string, width, height uint32) []byte {
	ispe := fullBox("ispe", u32(width), u32(height))
	properties := box("ipco", ispe)
	association := fullBox("ipma", u32(1), []byte{0, 1, 1, 1})
	meta := fullBox("meta", fullBox("pitm", []byte{0, 1}), box("iprp", properties, association))
	return bytes.Join([][]byte{
		box("ftyp", []byte(brand), u32(0), []byte("mif1"), []byte(brand)), meta, box("mdat", make([]byte, 16)),
	}, nil)
}

func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func box(kind string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(append(u32(uint32(8+len(body))), kind...), body...)
}

func fullBox(kind string, parts ...[]byte) []byte {
	return box(kind, append([][]byte{u32(0)}, parts...)...)
}
