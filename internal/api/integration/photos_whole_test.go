package integration_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// TestUploadPhotos_Damaged checks that a file is followed to the end of its picture: what begins like a photo and goes
// on as something else is refused, and what follows a picture, or the smallest ones that tests are made with, is not.
func TestUploadPhotos_Damaged(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		jpg, png := pictures.GrayJPEG(120, 90), pictures.GrayPNG(120, 90)
		archive := append([]byte("PK\x03\x04"), bytes.Repeat([]byte("anything "), 10_000)...)
		film := append([]byte("\x00\x00\x00\x10ftypmp42\x00\x00\x00\x00\x00\x01\x86\xa8mdat"), make([]byte, 100_000)...)
		for name, content := range map[string][]byte{
			"JunkAfterThePNGHeader":  append(integrationtest.PNGHeader(5, 5), archive...),
			"JunkAfterTheHEICHeader": append(integrationtest.HEIFHeader("heic", 5, 5), archive...),
			"CutOffJPEG":             jpg[:len(jpg)-3],
			"CutOffPNG":              png[:len(png)-16],
		} {
			t.Run(name, func(t *testing.T) {
				e := c.Upload(t, part{Filename: "x.jpg", Content: content}).Refused(t, 400, "INVALID_FILE_TYPE")
				e.Is(t, "details.data.0.error.code", "INVALID_FILE_TYPE")
			})
		}
		t.Run("CamerasAddToPhotos", func(t *testing.T) {
			c.Upload(t, part{Filename: "motion.jpg", Content: append(bytes.Clone(jpg), film...)},
				part{Filename: "mpf.jpg", Content: append(bytes.Clone(jpg), jpg...)},
				part{Filename: "padded.png", Content: append(bytes.Clone(png), make([]byte, 100_000)...)},
				part{Filename: "depth.jpg", Content: append(bytes.Clone(jpg), archive...)}).Want(t, 201).
				Is(t, "data.0.status", "uploaded").Is(t, "data.1.status", "uploaded").
				Is(t, "data.2.status", "uploaded").Is(t, "data.3.status", "uploaded")
		})
		t.Run("TinyPicture", func(t *testing.T) {
			wrong := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
			content, err := base64.StdEncoding.DecodeString(wrong) // the length of its pixels is
			must.NoError(t, err)
			c.Upload(t, part{Filename: "dot.png", Content: content}).Want(t, 201).Is(t, "data.0.status", "uploaded")
		})
	})
}
