package certificate

import (
	"image/color"
	"strconv"
	"strings"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

// qrCode is a QR code as dark squares in a grid.
type qrCode struct {
	Size int // squares along an edge, without the margin
	dark func(x, y int) bool
}

// qrMargin is the empty space around, in squares, that readers need.
const qrMargin = 4

// newQR encodes a text so that it can be read with a seventh of it damaged.
func newQR(content string) (qrCode, error) {
	code, err := qr.Encode(content, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, err
	}
	return qrCode{Size: code.Bounds().Dx(), dark: darkIn(code)}, nil
}

func darkIn(code barcode.Barcode) func(x, y int) bool {
	return func(x, y int) bool { return code.At(x, y) == color.Black }
}

// runs calls each for every horizontal run of dark squares.
func (q qrCode) runs(each func(x, y, length int)) {
	for y := range q.Size {
		for x := 0; x < q.Size; x++ {
			start := x
			for x < q.Size && q.dark(x, y) {
				x++
			}
			if x > start {
				each(start, y, x-start)
			}
		}
	}
}

// Box is the view box of an SVG with the margin.
func (q qrCode) Box() string {
	side := strconv.Itoa(q.Size + 2*qrMargin)
	return "0 0 " + side + " " + side
}

// Path is the dark squares as an SVG path.
func (q qrCode) Path() string {
	var b strings.Builder
	q.runs(func(x, y, length int) {
		n := strconv.Itoa(length)
		b.WriteString("M" + strconv.Itoa(x+qrMargin) + " " + strconv.Itoa(y+qrMargin) + "h" + n + "v1h-" + n + "z")
	})
	return b.String()
}
