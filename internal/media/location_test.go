package media_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"

	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// TestAccept_StripLocation checks that a photo is stored and hashed without its position where that is asked for, and
// unchanged where it is not.
func TestAccept_StripLocation(t *testing.T) {
	const position = "35,0.68N"
	xmp := "http://ns.adobe.com/xap/1.0/\x00<rdf:Description exif:GPSLatitude=\"" + position + "\" tiff:Model=\"Seven\"/>"
	plain := pictures.PadJPEG(pictures.GrayJPEG(9, 9), 0, "a note")
	file := append([]byte("\xff\xd8\xff\xe1\x00"+string([]byte{byte(2 + len(xmp))})+xmp), plain[2:]...)
	for name, strip := range map[string]bool{"Kept": false, "Stripped": true} {
		t.Run(name, func(t *testing.T) {
			staging, err := media.NewStaging(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if strip {
				staging.StripLocation()
			}
			u, refusal, err := staging.Accept(t.Context(), bytes.NewReader(file), "x.jpg", 1<<20)
			if err != nil || refusal != nil {
				t.Fatal(refusal, err)
			}
			defer func() { _ = u.Staged.Close() }()
			stored, err := io.ReadAll(u.Staged.Reader())
			if err != nil {
				t.Fatal(err)
			}
			if has := bytes.Contains(stored, []byte(position)); has == strip || bytes.Equal(stored, file) == strip {
				t.Errorf("the position is there: %v", has)
			}
			sum := sha256.Sum256(stored)
			if u.Staged.SHA256() != hex.EncodeToString(sum[:]) || u.Staged.Size() != int64(len(file)) {
				t.Error("hash or size are not those of the stored bytes")
			}
			if !bytes.HasSuffix(stored, plain[2:]) || !bytes.Contains(stored, []byte(`tiff:Model="Seven"`)) {
				t.Error("something else changed")
			}
		})
	}
}
