package certificate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"

	"codeberg.org/go-pdf/fpdf"

	"github.com/assayhq/assay/internal/domain/text"
)

// pictures shows photos with their names in rows, uncropped, as far as there is room above a height, and returns those
// that there was none for. Rows are lower where that keeps all on one sheet.
func (s *sheet) pictures(photos []sheetPhoto, y, bottom float64) []sheetPhoto {
	const gap, lowest, highest, caption = 3.5, 18.0, 32.0, captionLine * captionLines
	const width = (sheetInner - gap*(sheetColumns-1)) / sheetColumns
	room := bottom - gap - y
	rows := min((len(photos)+sheetColumns-1)/sheetColumns, int(room/(lowest+caption+gap)))
	height := min(highest, room/max(1, float64(rows))-caption-gap)
	for range rows {
		row := photos[:min(sheetColumns, len(photos))]
		photos = photos[len(row):]
		left := sheetMargin + (sheetInner-float64(len(row))*(width+gap)+gap)/2
		for _, photo := range row {
			s.picture(photo.image, left, y, width, height)
			s.caption(photo.name, left, y+height+0.6, width)
			left += width + gap
		}
		y += height + caption + gap
	}
	return photos
}

const (
	captionSize  = 6.5
	captionLine  = 2.5
	captionLines = 4
)

// caption writes the name of a photo in both languages, in as many lines as there is room for.
func (s *sheet) caption(name text.Text, x, y, width float64) {
	s.pdf.SetFont(sheetFont, "", captionSize)
	lines := s.wrap(name.EN, width-2)
	if name.JA != "" && name.JA != name.EN {
		lines = append(lines, s.wrap(name.JA, width-2)...)
	}
	if len(lines) > captionLines {
		lines = strings.Split(both(name), "　")
	}
	s.ink(softColour)
	for _, words := range lines {
		s.fit("", words, captionSize, width)
		s.pdf.SetXY(x, y)
		s.cell(width, captionLine, words, "C")
		y += captionLine
	}
}

func (s *sheet) picture(photo []byte, x, y, width, height float64) {
	options := fpdf.ImageOptions{ImageType: "JPG"}
	name := fmt.Sprintf("photo-%x", sha256.Sum256(photo))
	info := s.pdf.RegisterImageOptionsReader(name, options, bytes.NewReader(photo))
	if info == nil || info.Width() == 0 || info.Height() == 0 {
		return
	}
	scale := min(width/info.Width(), height/info.Height())
	w, h := info.Width()*scale, info.Height()*scale
	s.pdf.ImageOptions(name, x+(width-w)/2, y+(height-h)/2, w, h, false, options, 0, "")
}
