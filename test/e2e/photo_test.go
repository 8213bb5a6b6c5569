package e2e_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"strconv"
	"testing"

	"github.com/assayhq/assay/client"
)

// newPhoto returns a valid PNG of about the given size: a small picture padded with a private chunk.
func newPhoto(t testing.TB, size int) []byte {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 16, 9))); err != nil {
		t.Fatal(err)
	}
	const endChunk = 12 // IEND: length, type and checksum, no content
	body := picture.Bytes()
	split := len(body) - endChunk
	padding := make([]byte, max(0, size-len(body)-endChunk))
	chunk := append([]byte("asSy"), padding...)

	photo := make([]byte, 0, len(body)+len(chunk)+8)
	photo = append(photo, body[:split]...)
	photo = binary.BigEndian.AppendUint32(photo, uint32(len(padding)))
	photo = append(photo, chunk...)
	photo = binary.BigEndian.AppendUint32(photo, crc32.ChecksumIEEE(chunk))
	return append(photo, body[split:]...)
}

// upload stores some copies of a small photo and returns their managed URLs.
func upload(t *testing.T, c *client.Client, count int) []string {
	t.Helper()
	photo := newPhoto(t, 0)
	files := make([]client.File, count)
	for i := range files {
		files[i] = client.File{Name: "photo-" + strconv.Itoa(i) + ".png", Content: bytes.NewReader(photo)}
	}
	results, err := c.UploadPhotos(t.Context(), files...)
	if err != nil {
		t.Fatal(err)
	}
	urls := make([]string, count)
	for i, result := range results {
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
		urls[i] = result.URL
	}
	return urls
}

// tote returns an order for an item of the test catalog, with one photo.
func tote(url string) client.CreateOrder {
	return client.CreateOrder{
		BrandCode: "northwind", CategoryCode: "bags", ModelCode: "northwind-tote",
		Photos: []client.OrderPhoto{{URL: url, IndexCode: "overall"}},
	}
}

// balance reads the credits of the client's environment.
func balance(ctx context.Context, t *testing.T, c *client.Client) int64 {
	t.Helper()
	b, err := c.GetBalance(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b.AvailableCredits
}
