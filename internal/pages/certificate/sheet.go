package certificate

import (
	"bytes"
	"cmp"
	_ "embed" // the fonts
	"math"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

// The fonts are subsets with Latin and Japanese in one; see fonts/README.md.
var (
	//go:embed fonts/BIZUDPGothic-Regular.ttf
	regularFont []byte
	//go:embed fonts/BIZUDPGothic-Bold.ttf
	boldFont []byte
)

// Measures of the sheet in millimetres: A4 upright.
const (
	sheetWidth, sheetHeight = 210.0, 297.0
	sheetMargin             = 24.0
	sheetInner              = sheetWidth - 2*sheetMargin
	sheetQR                 = 38.0
	sheetFoot               = sheetHeight - 24 - sheetQR // where the QR code and the proof begin
	sheetColumns            = 4
	sheetFont               = "bizudpgothic"
)

// colour is red, green and blue.
type colour [3]int

var (
	inkColour  = colour{26, 34, 38}
	softColour = colour{88, 100, 106}
	goldColour = colour{176, 134, 56}
	goodColour = colour{27, 107, 58}
	badColour  = colour{179, 38, 30}
	lineColour = colour{214, 217, 211}
	warnColour = colour{135, 83, 0}
)

// sheet is a certificate to be drawn.
type sheet struct {
	*certificate.Certificate
	row      *certificate.Issued
	photos   []sheetPhoto
	messages *ui.Messages
	issuer   certificate.Issuer
	pdf      *fpdf.Fpdf
}

// t returns a text in both languages, in one line.
func (s *sheet) t(key string) (en, ja string) {
	return s.messages.T(text.English, key), s.messages.T(text.Japanese, key)
}

// draw returns the PDF.
func (s *sheet) draw() ([]byte, error) {
	issued := time.Time(s.IssuedAt)
	p := fpdf.New("P", "mm", "A4", "")
	s.pdf = p
	p.SetCatalogSort(true)
	p.SetCreationDate(issued)
	p.SetModificationDate(issued)
	p.SetTitle(s.messages.T(text.English, "certificate.title")+" "+s.OrderNumber, true)
	p.SetAuthor(printable(cmp.Or(s.issuer.Name, s.Issuer)), true)
	p.SetSubject(s.URL, true)
	p.SetAutoPageBreak(false, 0)
	p.SetMargins(sheetMargin, sheetMargin, sheetMargin)
	p.AddUTF8FontFromBytes(sheetFont, "", regularFont)
	p.AddUTF8FontFromBytes(sheetFont, "B", boldFont)
	p.AddPage()
	s.frame()
	s.marks()
	y := s.heading()
	y = s.facts(y)
	rest := s.pictures(s.photos, y, sheetFoot)
	s.proof(len(rest))
	for len(rest) > 0 { // on further sheets
		p.AddPage()
		s.frame()
		s.marks()
		y := s.line(s.Item.Title(text.English)+"　"+s.OrderNumber, 12, 20, inkColour, true)
		rest = s.pictures(rest, y+5, sheetHeight-sheetMargin)
	}
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (s *sheet) ink(c colour) {
	s.pdf.SetTextColor(c[0], c[1], c[2])
	s.pdf.SetDrawColor(c[0], c[1], c[2])
	s.pdf.SetFillColor(c[0], c[1], c[2])
}

// frame draws a double line around the sheet.
func (s *sheet) frame() {
	s.ink(goldColour)
	s.pdf.SetLineWidth(0.9)
	s.pdf.Rect(10, 10, sheetWidth-20, sheetHeight-20, "D")
	s.pdf.SetLineWidth(0.25)
	s.pdf.Rect(12, 12, sheetWidth-24, sheetHeight-24, "D")
}

// marks writes across the sheet that the certificate is a test, or was revoked.
func (s *sheet) marks() {
	if s.Test {
		s.across("TEST テスト", warnColour, 78, 110)
		s.across("TEST テスト", warnColour, 78, 215)
	}
	if s.row.Revoked != nil {
		s.across("REVOKED 無効", badColour, 66, 160)
	}
}

func (s *sheet) across(words string, c colour, size, y float64) {
	p := s.pdf
	p.SetFont(sheetFont, "", size)
	s.ink(c)
	p.SetAlpha(0.13, "Normal")
	p.TransformBegin()
	p.TransformRotate(32, sheetWidth/2, y)
	p.Text((sheetWidth-p.GetStringWidth(words))/2, y+size*0.12, words)
	p.TransformEnd()
	p.SetAlpha(1, "Normal")
}

// line writes a text at a height, in the middle, as large as it may be and fits, and returns the height below it.
func (s *sheet) line(words string, size, y float64, c colour, bold bool) float64 {
	style := ""
	if bold {
		style = "B"
	}
	s.fit(style, words, size, sheetInner)
	s.ink(c)
	s.pdf.SetXY(sheetMargin, y)
	s.cell(sheetInner, size*0.5, words, "C")
	return y + size*0.5
}

// fit sets the font, smaller than the given size where the words would take more than a width.
func (s *sheet) fit(style, words string, size, width float64) {
	s.pdf.SetFont(sheetFont, style, size)
	if w := s.pdf.GetStringWidth(printable(words)); w > width-2 {
		s.pdf.SetFontSize(size * (width - 2) / w)
	}
}

// cell writes words into a box whose upper left corner is set, in the middle of its height; align is L or C. What
// follows is to the right of it.
func (s *sheet) cell(width, height float64, words, align string) {
	s.pdf.CellFormat(width, height, printable(words), "", 0, align+"M", false, 0, "")
}

// heading is the title, the item and the verdict.
func (s *sheet) heading() float64 {
	en, ja := s.t("certificate.title")
	if s.issuer.Logo != nil && s.row.Revoked == nil {
		s.logo(sheetWidth/2, 29, 60, 18)
	} else {
		s.emblem(sheetWidth/2, 29, 7)
	}
	y := s.line(strings.ToUpper(en), 19, 41, inkColour, true)
	y = s.line(ja, 13, y+1, softColour, false)
	if s.Test {
		label, labelJA := s.t("certificate.test.label")
		en, ja := s.t("certificate.test.text")
		y = s.line(label+"　"+labelJA, 15, y+3, warnColour, true)
		y = s.line(en, 9.5, y+0.5, warnColour, false)
		y = s.line(ja, 8.5, y, warnColour, false)
	}
	y = s.line(s.Item.Title(text.English), 26, y+6, inkColour, true)
	if other := s.Item.Title(text.Japanese); other != s.Item.Title(text.English) {
		y = s.line(other, 14, y+1, softColour, false)
	}
	return s.verdict(y + 6)
}

// logo draws the issuer's logo around a point, as large as a box.
func (s *sheet) logo(x, y, width, height float64) {
	l := s.issuer.Logo
	scale := min(width/float64(l.Width), height/float64(l.Height))
	w, h := float64(l.Width)*scale, float64(l.Height)*scale
	options := fpdf.ImageOptions{ImageType: l.Paper.Format}
	s.pdf.RegisterImageOptionsReader("logo", options, bytes.NewReader(l.Paper.Content))
	s.pdf.ImageOptions("logo", x-w/2, y-h/2, w, h, false, options, 0, "")
}

// emblem draws the mark of the service, a check in a hexagon; a revoked certificate has a cross.
func (s *sheet) emblem(x, y, r float64) {
	p := s.pdf
	corners := make([]fpdf.PointType, 6)
	for i := range corners {
		angle := math.Pi/6 + float64(i)*math.Pi/3
		corners[i] = fpdf.PointType{X: x + r*math.Cos(angle), Y: y + r*math.Sin(angle)}
	}
	s.ink(goldColour)
	p.SetLineWidth(0.9)
	p.SetLineJoinStyle("round")
	p.SetLineCapStyle("round")
	p.Polygon(corners, "D")
	p.SetLineWidth(1.3)
	if s.row.Revoked != nil {
		s.ink(badColour)
		p.Line(x-r*0.34, y-r*0.34, x+r*0.34, y+r*0.34)
		p.Line(x-r*0.34, y+r*0.34, x+r*0.34, y-r*0.34)
	} else {
		s.ink(goodColour)
		p.Line(x-r*0.42, y, x-r*0.08, y+r*0.34)
		p.Line(x-r*0.08, y+r*0.34, x+r*0.46, y-r*0.3)
	}
	p.SetLineCapStyle("butt")
}

func (s *sheet) verdict(y float64) float64 {
	c, key := goodColour, "certificate.verdict"
	switch {
	case s.row.Revoked != nil:
		c, key = badColour, "certificate.revoked.verdict"
	case s.Test:
		key = "certificate.test.verdict"
	}
	en, ja := s.t(key)
	words := en + " · " + ja
	const size, height = 17.0, 15.0
	s.fit("B", words, size, sheetInner)
	width := max(92, s.pdf.GetStringWidth(words)+height)
	s.ink(c)
	s.pdf.SetLineWidth(0.7)
	s.pdf.RoundedRect((sheetWidth-width)/2, y, width, height, height/2, "1234", "D")
	s.line(words, size, y+height/2-size*0.25, c, true)
	return y + height + 8
}

// facts is a table of two columns, each name in both languages.
func (s *sheet) facts(y float64) float64 {
	date := func(t time.Time) string {
		return ui.FormatDate(text.English, t) + "　" + ui.FormatDate(text.Japanese, t)
	}
	rows := [][2]string{{"certificate.brand", both(s.Item.Brand.Text)}} // key and value
	if s.Item.Model != nil {
		rows = append(rows, [2]string{"certificate.model", both(s.Item.Model.Text)})
	}
	rows = append(rows,
		[2]string{"certificate.category", both(s.Item.Category.Text)},
		[2]string{"certificate.order", s.OrderNumber},
		[2]string{"certificate.date", date(time.Time(s.IssuedAt))},
		[2]string{"certificate.issuer", cmp.Or(s.issuer.Name, s.Issuer)})
	if s.issuer.Address != "" {
		rows = append(rows, [2]string{"certificate.issuer_address", s.issuer.Address})
	}
	if r := s.row.Revoked; r != nil {
		rows = append(rows, [2]string{"certificate.revoked.at", date(time.Time(r.At))})
	}
	for _, row := range rows {
		s.factName(row[0], y)
		s.fit("", row[1], 11, sheetInner-factNames)
		s.ink(inkColour)
		s.cell(sheetInner-factNames, factHeight, row[1], "L")
		y += factHeight
	}
	if r := s.row.Revoked; r != nil {
		y = s.reason(r.Reason, y)
	}
	s.rule(y)
	return y + belowFacts
}

// Measures of the table of facts.
const factNames, factHeight, belowFacts = 58.0, 8.2, 7.0

// factName begins a row of the table with its name.
func (s *sheet) factName(key string, y float64) {
	en, ja := s.t(key)
	s.rule(y)
	s.fit("", en+"　"+ja, 9.5, factNames)
	s.ink(softColour)
	s.pdf.SetXY(sheetMargin, y)
	s.cell(factNames, factHeight, en+"　"+ja, "L")
}

// reason is the last row of a revoked certificate. Photos that it leaves no room for are on the next sheet.
func (s *sheet) reason(words string, y float64) float64 {
	s.factName("certificate.revoked.reason", y)
	lines, size := s.block(words, sheetInner-factNames, sheetFoot-belowFacts-y-factHeight)
	s.ink(inkColour)
	y += (factHeight - size*lineHeight) / 2
	for _, line := range lines {
		s.pdf.SetXY(sheetMargin+factNames, y)
		s.cell(sheetInner-factNames, size*lineHeight, line, "L")
		y += size * lineHeight
	}
	return y + (factHeight-size*lineHeight)/2
}

func (s *sheet) rule(y float64) {
	s.ink(lineColour)
	s.pdf.SetLineWidth(0.2)
	s.pdf.Line(sheetMargin, y, sheetWidth-sheetMargin, y)
}

// both is a name in both languages, once where they are the same.
func both(t text.Text) string {
	if t.JA == "" || t.JA == t.EN {
		return t.EN
	}
	return t.EN + "　" + t.JA
}

// proof is the QR code of the page and how to check the certificate, at the foot of the sheet. more is how many photos
// are on the next one.
func (s *sheet) proof(more int) {
	const top = sheetFoot
	s.qr(sheetWidth-sheetMargin-sheetQR, top)
	s.ink(softColour)
	width := sheetInner - sheetQR - 6
	s.pdf.SetXY(sheetMargin, top+1)
	en, ja := s.t("certificate.sheet")
	for _, paragraph := range []struct {
		words string
		size  float64
		c     colour
	}{
		{en, 8, softColour},
		{ja, 8, softColour},
		{s.URL, 8, inkColour},
		{"Certificate " + s.ID, 6.5, softColour},
		{"Ed25519 key " + s.row.KeyID, 6.5, softColour},
		{s.overleaf(more), 8, softColour},
	} {
		s.fit("", paragraph.words, paragraph.size, width)
		s.ink(paragraph.c)
		s.pdf.SetX(sheetMargin)
		s.cell(width, 5.4, paragraph.words, "L")
		s.pdf.Ln(-1)
	}
	s.pdf.LinkString(sheetMargin, top+11, width, 6, s.URL)
}

// overleaf says how many photos follow; nothing when there are none.
func (s *sheet) overleaf(more int) string {
	if more == 0 {
		return ""
	}
	return s.messages.T(text.English, "certificate.overleaf", "n", more) + "　" +
		s.messages.T(text.Japanese, "certificate.overleaf", "n", more)
}

// qr draws the code with its margin on white, whatever is printed below.
func (s *sheet) qr(x, y float64) {
	code, err := ui.NewQR(s.URL)
	if err != nil {
		s.pdf.SetError(err)
		return
	}
	s.ink(colour{255, 255, 255})
	s.pdf.Rect(x, y, sheetQR, sheetQR, "F")
	s.ink(colour{0, 0, 0})
	unit := sheetQR / float64(code.Size+2*ui.QRMargin)
	code.Runs(func(column, row, length int) {
		s.pdf.Rect(x+float64(column+ui.QRMargin)*unit, y+float64(row+ui.QRMargin)*unit, float64(length)*unit, unit, "F")
	})
}
