package imaging

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"iter"

	"github.com/assayhq/assay/internal/domain/photo"
)

// metadata is the part of a file's metadata that is used.
type metadata struct {
	exif []byte // a TIFF structure; nil: none
	icc  []byte // a color profile for RGB images; nil: none, which is sRGB
}

const (
	maxSegment = 1 << 20 // bytes of a part that is read
	maxParts   = 10_000  // of a file
	maxProfile = 60_000  // fits into one segment of a JPEG; common ones have a few kilobytes
)

// readMetadata reads the parts of a file before its pixels. What is broken there is left out: whether the image can be
// shown is for the decoder to say. The error is the reader's.
func readMetadata(r io.ReadSeeker, f photo.Format) (m metadata, err error) {
	switch f {
	case photo.JPEG:
		err = m.readJPEG(readerAt{r})
	case photo.PNG, photo.WebP:
		err = m.readChunks(readerAt{r}, f)
	case photo.HEIC, photo.HEIF, photo.AVIF:
		var size int64
		if size, err = r.Seek(0, io.SeekEnd); err == nil {
			m.icc, err = photo.ColorProfile(readerAt{r}, size, maxProfile)
		}
		if err == nil {
			m.exif, err = photo.ExifData(readerAt{r}, size, maxSegment)
		}
	}
	if !forRGB(m.icc) {
		m.icc = nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return m, err
}

// part is a segment of a JPEG or a chunk of a PNG or WebP.
type part struct {
	kind     string // a marker of one byte, or four characters
	at, size int64  // of its content
}

// partsOf yields the parts of a file in order. At the end it yields the reader's error, such as io.EOF, or nothing
// where the file is broken or has too many parts.
func partsOf(r io.ReaderAt, f photo.Format) iter.Seq2[part, error] {
	begin := map[photo.Format]int64{photo.JPEG: 2, photo.PNG: 8, photo.WebP: 12}
	return func(yield func(part, error) bool) {
		at := begin[f]
		head := make([]byte, 8)
		if f == photo.JPEG {
			head = head[:4]
		}
		for range maxParts {
			if _, err := r.ReadAt(head, at); err != nil {
				yield(part{}, err)
				return
			}
			p := part{at: at + int64(len(head))}
			var end int64
			switch f {
			case photo.JPEG: // the length includes its own two bytes
				p.kind, p.size = string(head[1:2]), int64(binary.BigEndian.Uint16(head[2:]))-2
				end = p.at + p.size
			case photo.PNG: // a checksum follows
				p.kind, p.size = string(head[4:]), int64(binary.BigEndian.Uint32(head))
				end = p.at + p.size + 4
			default: // sizes are padded to even ones
				p.kind, p.size = string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
				end = p.at + p.size + p.size&1
			}
			if p.size < 0 || f == photo.JPEG && head[0] != 0xff || !yield(p, nil) {
				return
			}
			at = end
		}
	}
}

func (p part) read(r io.ReaderAt) ([]byte, error) {
	b := make([]byte, p.size)
	if n, err := r.ReadAt(b, p.at); n < len(b) {
		return nil, err
	}
	return b, nil
}

// Markers of JPEG segments.
const (
	jpegSOS, jpegEOI   = "\xda", "\xd9" // the pixels begin, or the image ends
	jpegAPP1, jpegAPP2 = "\xe1", "\xe2"
)

func (m *metadata) readJPEG(r io.ReaderAt) error {
	var profile [256][]byte // in numbered parts, from 1
	read := 0
	defer func() {
		for _, part := range profile[1:] {
			if part == nil {
				break
			}
			m.icc = append(m.icc, part...)
		}
	}()
	for p, err := range partsOf(r, photo.JPEG) {
		if err != nil || p.kind == jpegSOS || p.kind == jpegEOI {
			return err
		}
		if p.kind != jpegAPP1 && p.kind != jpegAPP2 {
			continue
		}
		segment, err := p.read(r)
		if err != nil {
			return err
		}
		if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok && m.exif == nil {
			m.exif = tiff
		}
		piece, ok := bytes.CutPrefix(segment, []byte("ICC_PROFILE\x00"))
		if ok && len(piece) > 2 && read+len(piece) <= 2*maxProfile {
			read += len(piece)
			profile[piece[0]] = piece[2:]
		}
	}
	return nil
}

// readChunks reads the metadata of PNG and WebP.
func (m *metadata) readChunks(r io.ReaderAt, f photo.Format) error {
	for p, err := range partsOf(r, f) {
		if err != nil || p.kind == "IEND" {
			return err
		}
		if p.size > maxSegment {
			continue
		}
		switch p.kind {
		case "eXIf", "EXIF":
			m.exif, err = p.read(r)
			m.exif = bytes.TrimPrefix(m.exif, []byte("Exif\x00\x00"))
		case "ICCP":
			m.icc, err = p.read(r)
		case "iCCP":
			var chunk []byte
			chunk, err = p.read(r)
			m.icc = inflateProfile(chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inflateProfile returns the profile of a PNG: a name, a zero, the method, and compressed data.
func inflateProfile(chunk []byte) []byte {
	_, rest, ok := bytes.Cut(chunk, []byte{0})
	if !ok || len(rest) < 2 {
		return nil
	}
	z, err := zlib.NewReader(bytes.NewReader(rest[1:]))
	if err != nil {
		return nil
	}
	profile, err := io.ReadAll(io.LimitReader(z, maxProfile+1))
	if err != nil {
		return nil
	}
	return profile
}

// forRGB reports whether a profile describes RGB colors: derived images have no others.
func forRGB(profile []byte) bool {
	return len(profile) > 128 && len(profile) <= maxProfile &&
		string(profile[16:20]) == "RGB " && string(profile[36:40]) == "acsp"
}

// withProfile puts a color profile into a JPEG, behind its first marker.
func withProfile(image, profile []byte) []byte {
	if len(profile) == 0 {
		return image
	}
	const name = "ICC_PROFILE\x00\x01\x01" // the first of one part
	out := make([]byte, 0, len(image)+len(profile)+len(name)+4)
	out = append(out, image[:2]...)
	out = append(out, 0xff, 0xe2)
	size := 2 + len(name) + len(profile)
	out = binary.BigEndian.AppendUint16(out, uint16(size)) //nolint:gosec // profiles are at most maxProfile
	out = append(out, name...)
	out = append(out, profile...)
	return append(out, image[2:]...)
}

// orientation returns how the pixels are turned, 1 to 8. The decoders of HEIF files turn them upright themselves.
func (m *metadata) orientation(f photo.Format) int {
	switch f {
	case photo.JPEG, photo.PNG, photo.WebP:
		return readTIFF(m.exif, new(Exif))
	case photo.HEIC, photo.HEIF, photo.AVIF:
	}
	return 1
}
