package certificate_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/need"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
)

// fetchPDF stores the PDF of a certificate in a file.
func fetchPDF(t *testing.T, w *world, id string) string {
	t.Helper()
	resp, body := w.get(t, "/certificates/"+id+".pdf")
	if got := resp.Header.Get("Content-Type"); got != "application/pdf" || !strings.HasPrefix(body, "%PDF") {
		t.Fatalf("%s: %.100s", got, body)
	}
	path := filepath.Join(t.TempDir(), "certificate.pdf")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), need.Program(t, "poppler-utils", program), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

// pdfText returns the words of the PDF of a certificate.
func pdfText(t *testing.T, w *world, id string) string {
	t.Helper()
	return run(t, "pdftotext", fetchPDF(t, w, id), "-")
}

// decodeQR reads the QR code in a picture.
func decodeQR(t *testing.T, picture image.Image) string {
	t.Helper()
	bitmap, err := gozxing.NewBinaryBitmapFromImage(picture)
	if err != nil {
		t.Fatal(err)
	}
	found, err := qrcode.NewQRCodeReader().
		Decode(bitmap, map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_TRY_HARDER: true})
	if err != nil {
		t.Fatalf("no QR code can be read: %v", err)
	}
	return found.GetText()
}

func TestPDF(t *testing.T) {
	w := newWorld(t)
	revoked := w.authentic(t, w.Live, picture(t, 0.3))
	if err := w.Service.RevokeCertificate(t.Context(), w.admin.Actor(access.Origin{}), revoked,
		"The item was exchanged. 商品が入れ替わっていました。"); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]string{
		"Revoked": revoked,
		"Live":    w.authentic(t, w.Live, picture(t, 0.3), picture(t, 1.2), picture(t, 2.2), picture(t, 2.9)),
		"Test":    w.authentic(t, w.Test, picture(t, 0.3)),
	} {
		t.Run(name, func(t *testing.T) {
			path := fetchPDF(t, w, id)
			if info := run(t, "pdfinfo", path); !strings.Contains(info, "Pages:           1\n") ||
				!strings.Contains(info, "A4") {
				t.Errorf("not one page of A4:\n%s", info)
			}
			for _, line := range strings.Split(strings.TrimSpace(run(t, "pdffonts", path)), "\n")[2:] {
				// At the end: embedded, marked as a subset, has a table of characters (so that Japanese can be copied), object and
				// generation.
				if f := strings.Fields(line); len(f) < 7 || f[len(f)-5] != "yes" || f[len(f)-3] != "yes" {
					t.Errorf("a font is not embedded: %s", line)
				}
			}
			page := filepath.Join(filepath.Dir(path), "page")
			run(t, "pdftoppm", "-png", "-r", "150", "-singlefile", path, page)
			b, err := os.ReadFile(page + ".png")
			if err != nil {
				t.Fatal(err)
			}
			picture, err := png.Decode(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if got := decodeQR(t, picture); got != w.URL+"/certificates/"+id {
				t.Errorf("the QR code leads to %s", got)
			}
			holds(t, run(t, "pdftotext", path, "-"), "Prada", "プラダ", "鑑定書", certificateOf(t, w, id).OrderNumber,
				w.URL+"/certificates/"+id)
		})
	}
}
