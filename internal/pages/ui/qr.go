package ui

import (
	"image/color"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// QR is a QR code as dark squares in a grid.
type QR struct {
	Size int // squares along an edge, without the margin
	dark func(x, y int) bool
}

// QRMargin is the empty space around, in squares, that readers need.
const QRMargin = 4

// NewQR encodes a text so that it can be read with a seventh of it damaged.
func NewQR(content string) (QR, error) {
	code, err := qr.Encode(content, qr.M, qr.Auto)
	if err != nil {
		return QR{}, err
	}
	dark := func(x, y int) bool { return code.At(x, y) == color.Black }
	return QR{Size: code.Bounds().Dx(), dark: dark}, nil
}

// Runs calls each for every horizontal run of dark squares.
func (q QR) Runs(each func(x, y, length int)) {
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
func (q QR) Box() string {
	side := strconv.Itoa(q.Size + 2*QRMargin)
	return "0 0 " + side + " " + side
}

// Path is the dark squares as an SVG path.
func (q QR) Path() string {
	var b strings.Builder
	q.Runs(func(x, y, length int) {
		n := strconv.Itoa(length)
		b.WriteString("M" + strconv.Itoa(x+QRMargin) + " " + strconv.Itoa(y+QRMargin) + "h" + n + "v1h-" + n + "z")
	})
	return b.String()
}
