package certificate_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/requires"
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
	out, err := exec.CommandContext(t.Context(), requires.Program(t, "poppler-utils", program), args...).CombinedOutput()
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

// decodeQR reads the QR code that a picture shows and nothing else. It does not let the library look for the corners:
// in about one of 100 codes, even perfectly drawn, it takes some of the data for one of them and reads nothing.
func decodeQR(t *testing.T, picture image.Image) string {
	t.Helper()
	bitmap, err := gozxing.NewBinaryBitmapFromImage(picture)
	if err != nil {
		t.Fatal(err)
	}
	found, err := qrcode.NewQRCodeReader().
		Decode(bitmap, map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true})
	if err != nil {
		t.Fatalf("no QR code can be read: %v", err)
	}
	return found.GetText()
}

// printedQR returns the corner of the PDF's first sheet that has the QR code.
func printedQR(t *testing.T, path string) image.Image {
	t.Helper()
	return printed(t, path, 148, 235, 38)
}

// printed returns a square of the PDF's first sheet. The measures are in millimetres.
func printed(t *testing.T, path string, left, top, side int) image.Image {
	t.Helper()
	const dots = 300 // per inch
	pixels := func(millimetres int) string { return strconv.Itoa(millimetres * dots * 10 / 254) }
	square := filepath.Join(filepath.Dir(path), "square")
	run(t, "pdftoppm", "-png", "-r", strconv.Itoa(dots), "-x", pixels(left), "-y", pixels(top), "-W", pixels(side),
		"-H", pixels(side), "-singlefile", path, square)
	b, err := os.ReadFile(square + ".png")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func TestPDF(t *testing.T) {
	w := newWorld(t)
	revoked := w.authentic(t, w.Live, picture(t, 0.3))
	w.revoke(t, revoked, "The item was exchanged. 商品が入れ替わっていました。")
	for name, id := range map[string]string{
		"Revoked": revoked,
		"Live": w.authentic(t, w.Live, picture(t, 0.3), picture(t, 1.2), picture(t, 2.2), picture(t, 2.9), picture(t, 0.1),
			picture(t, 0.9), picture(t, 1.7), picture(t, 2.5)),
		"Test": w.authentic(t, w.Test, picture(t, 0.3)),
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
			if got := decodeQR(t, printedQR(t, path)); got != w.URL+"/certificates/"+id {
				t.Errorf("the QR code leads to %s", got)
			}
			holds(t, run(t, "pdftotext", path, "-"), "Prada", "プラダ", "鑑定書", certificateOf(t, w, id).OrderNumber,
				w.URL+"/certificates/"+id)
		})
	}
}

// printedWord is a word on a sheet and where it is, in points.
type printedWord struct {
	left, top, bottom float64
	text              string
}

// printedWords returns the words of the first sheet of a PDF.
func printedWords(t *testing.T, path string) (words []printedWord) {
	t.Helper()
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(s, 64)
		must.NoError(t, err)
		return n
	}
	word := regexp.MustCompile(`<word xMin="([0-9.]+)" yMin="([0-9.]+)" xMax="[0-9.]+" yMax="([0-9.]+)">([^<]*)</word>`)
	for _, m := range word.FindAllStringSubmatch(run(t, "pdftotext", "-bbox", "-l", "1", path, "-"), -1) {
		words = append(words, printedWord{number(m[1]), number(m[2]), number(m[3]), m[4]})
	}
	if len(words) == 0 {
		t.Error("no words are printed")
	}
	return words
}

// TestPDF_LongReason checks that the reason of a revocation is printed whole and large enough to be read, and leaves
// the foot of the sheet free.
func TestPDF_LongReason(t *testing.T) {
	logo, err := certificate.NewLogo(pictures.GrayPNG(60, 20))
	must.NoError(t, err)
	w := newWorldOf(t, certificate.Issuer{Name: "Kyoto Appraisal", Address: "1-2 Nakagyo, Kyoto", Logo: logo})
	english := strings.TrimSpace(strings.Repeat("The photos show another item than the one that was sold. ", 8))
	japanese := strings.Repeat("写真の品物は、販売された品物とは異なるものでした。", 20) // 500 characters
	for name, reason := range map[string]string{
		"Sentence": "写真の品物は、販売された品物とは異なるものでした。「販売者」から連絡があり、確認の結果、鑑定を取り消します。",
		"English":  english, "Lines": "The item was exchanged.\n\n品物が入れ替わっていました。",
		"Japanese": japanese, "OneWord": strings.Repeat("W", 300),
	} {
		t.Run(name, func(t *testing.T) {
			id := w.authentic(t, w.Live, picture(t, 0.3))
			w.revoke(t, id, reason)
			path := fetchPDF(t, w, id)
			together := func(s string) string { return strings.Join(strings.Fields(s), "") }
			if words := together(run(t, "pdftotext", "-raw", path, "-")); !strings.Contains(words, together(reason)) {
				t.Errorf("the reason is not in the PDF:\n%s", words)
			}
			const column, foot = 82 * 72 / 25.4, 235 * 72 / 25.4 // where values begin, and the QR code
			for _, word := range printedWords(t, path) {
				if strings.Contains(together(reason), word.text) && word.left > column &&
					(word.bottom-word.top < 6 || word.bottom > foot) {
					t.Errorf("%+v is too small, or lower than %.0f", word, foot)
				}
			}
			if got := decodeQR(t, printedQR(t, path)); got != w.URL+"/certificates/"+id {
				t.Errorf("the QR code leads to %s", got)
			}
		})
	}
}

// TestPDF_AllPhotos checks that the PDF has every photo with its name, on as many sheets as it takes, and that the
// issuer is named with logo and address.
func TestPDF_AllPhotos(t *testing.T) {
	logo := pictures.GrayPNG(60, 20)
	picked, err := certificate.NewLogo(logo)
	must.NoError(t, err)
	w := newWorldOf(t, certificate.Issuer{Name: "Kyoto Appraisal 京都鑑定", Address: "1-2 Nakagyo, Kyoto", Logo: picked})
	const photos = 12 // of as many indexes
	var contents [][]byte
	for i := range photos {
		contents = append(contents, picture(t, float64(i)/5))
	}
	id := w.authentic(t, w.Live, contents...)
	path := fetchPDF(t, w, id)
	words := run(t, "pdftotext", path, "-")
	holds(t, words, "Kyoto Appraisal 京都鑑定", "1-2 Nakagyo, Kyoto", "more photos on the next pages", w.URL)
	lines := strings.Split(strings.TrimSpace(run(t, "pdfimages", "-list", path)), "\n")[2:]
	jpegs := 0
	for _, line := range lines {
		if strings.Contains(line, " jpeg ") {
			jpegs++
		}
	}
	if jpegs != photos {
		t.Errorf("%d of %d photos are in the PDF:\n%s", jpegs, photos, strings.Join(lines, "\n"))
	}
	_, page := w.get(t, "/certificates/"+id)
	holds(t, page, "Kyoto Appraisal 京都鑑定", "1-2 Nakagyo, Kyoto", `src="/issuer-logo"`)
	if resp, body := w.get(t, "/issuer-logo"); resp.Header.Get("Content-Type") != "image/png" || body != string(logo) {
		t.Errorf("the logo is %s", resp.Header.Get("Content-Type"))
	}
}

// TestPDF_RareCharacters checks that a character for which the PDF has no place, an emoji or a rare kanji, is a mark
// there, wherever it comes from.
func TestPDF_RareCharacters(t *testing.T) {
	w := newWorldOf(t, certificate.Issuer{Name: "Yoshi 𠮷田鑑定", Address: "1-2 Nakagyo 🏯"})
	_, err := w.Service.ImportCatalog(t.Context(), access.Operator, bytes.ReplaceAll(bytes.ReplaceAll(demo.Catalog,
		[]byte("name: {en: Prada, ja: プラダ}"), []byte("name: {en: Prada 🎀, ja: プラダ𐀀}")),
		[]byte("name: {en: Overall picture, ja: 全体写真}"), []byte("name: {en: Front 📷, ja: 正面𠮷}")))
	must.NoError(t, err)
	id := w.authentic(t, w.Live, picture(t, 0.3))
	words := pdfText(t, w, id)
	holds(t, words, "Yoshi 〓田鑑定", "1-2 Nakagyo 〓", "Prada 〓", "プラダ〓", "Front 〓", "正面〓")
	holds(t, run(t, "pdfinfo", fetchPDF(t, w, id)), "Yoshi 〓田鑑定")
	w.revoke(t, id, "Sold twice 😀 by 𠮷野.")
	holds(t, pdfText(t, w, id), "Sold twice 〓 by 〓野.")
}

// TestPDF_Logo checks that a logo of every form that is accepted is printed, in its colour.
func TestPDF_Logo(t *testing.T) {
	const width, height = 48, 16
	colour := color.NRGBA{R: 0x80, G: 0x90, B: 0xa0, A: 0xff} // that of DeepPNG
	jpegOf := func(components ...byte) []byte {
		j := &pictures.JPEG{Width: width, Height: height} // with an Adobe segment: no luminance
		for _, c := range components {
			j.Planes = append(j.Planes, pictures.Plane{
				Pix: bytes.Repeat([]byte{c}, width*height), Stride: width, Width: width, Height: height, H: 1, V: 1,
			})
		}
		return j.Encode()
	}
	for name, file := range map[string][]byte{
		"Interlaced": pictures.DeepPNG(width, height, true),
		"Deep":       pictures.DeepPNG(width, height, false),
		"RGB":        jpegOf(colour.R, colour.G, colour.B),
		"CMYK":       jpegOf(colour.R, colour.G, colour.B, 0xff), // stored inverted
	} {
		t.Run(name, func(t *testing.T) {
			logo, err := certificate.NewLogo(file)
			must.NoError(t, err)
			w := newWorldOf(t, certificate.Issuer{Name: "Kyoto Appraisal", Logo: logo})
			path := fetchPDF(t, w, w.authentic(t, w.Test, pictures.GrayJPEG(60, 20)))
			got := color.NRGBAModel.Convert(printed(t, path, 100, 24, 10).At(50, 50)).(color.NRGBA)
			for _, d := range []int{int(got.R) - int(colour.R), int(got.G) - int(colour.G), int(got.B) - int(colour.B)} {
				if max(d, -d) > 3 {
					t.Fatalf("the logo is printed in %v, want %v", got, colour)
				}
			}
			if _, body := w.get(t, "/issuer-logo"); body != string(file) {
				t.Error("pages show another file")
			}
		})
	}
}
