package certificate

import "strings"

// printable returns a text with a mark in place of each character that cannot be in a PDF: the library has room for
// those up to U+FFFF, and fails on an emoji or a rare kanji. Whatever is measured or written goes through it.
func printable(words string) string {
	const last, mark = '\uffff', '〓' // what printers set for a character that they do not have
	return strings.Map(func(r rune) rune {
		if r > last {
			return mark
		}
		return r
	}, words)
}

// Sizes of a text that may take several lines, from the largest to the smallest that can be read.
var blockSizes = []float64{11, 9.5, 8, 7, 6.5}

// lineHeight is how much of the sheet a line of a size takes.
const lineHeight = 0.5

// block sets the font and returns the lines of a text that have room in a box, as large as they may be. What is too
// long even for the smallest size is cut.
func (s *sheet) block(words string, width, height float64) (lines []string, size float64) {
	for _, size = range blockSizes {
		s.pdf.SetFont(sheetFont, "", size)
		if lines = s.wrap(words, width-2); float64(len(lines))*size*lineHeight <= height {
			return lines, size
		}
	}
	most := max(1, int(height/(size*lineHeight)))
	if len(lines) > most {
		lines = lines[:most]
		last := []rune(lines[most-1])
		lines[most-1] = string(last[:max(0, len(last)-1)]) + "…"
	}
	return lines, size
}

// wrap breaks a text into lines of a width, in the font that is set.
func (s *sheet) wrap(words string, width float64) (lines []string) {
	rest := []rune(strings.Join(strings.Fields(printable(words)), " "))
	for len(rest) > 0 {
		n := s.breakAt(rest, width)
		lines = append(lines, strings.TrimSpace(string(rest[:n])))
		rest = rest[n:]
	}
	return lines
}

// breakAt returns how many characters are a line of a width: as far as the last place where a line may end, or within a
// word that is longer than a line.
func (s *sheet) breakAt(words []rune, width float64) int {
	end, used := 0, 0.0
	for i, r := range words {
		used += s.pdf.GetStringWidth(string(r))
		if used > width && i > 0 && r != ' ' {
			if end > 0 {
				return end
			}
			return i
		}
		if i+1 < len(words) && mayBreak(r, words[i+1]) {
			end = i + 1
		}
	}
	return len(words)
}

// mayBreak reports whether a line may end between two characters: after a space, and between Japanese characters, of
// which some neither begin nor end a line.
func mayBreak(before, after rune) bool {
	const neverFirst = "、。，．・：；！？）］｝」』】〉》〕’”…ーぁぃぅぇぉっゃゅょ" +
		"ァィゥェォッャュョ々,.:;!?)]}"
	const neverLast = "（［｛「『【〈《〔‘“([{"
	const japanese = 0x2e80 // where the characters of East Asia begin
	if after == ' ' || strings.ContainsRune(neverFirst, after) || strings.ContainsRune(neverLast, before) {
		return false
	}
	return before == ' ' || before >= japanese || after >= japanese
}
