package imaging

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"

	"github.com/assayhq/assay/internal/domain/photo"
)

// metadata is what a file says about its image, as far as it matters here.
type metadata struct {
	exif []byte // a TIFF structure; nil: none
	icc  []byte // a colour profile for RGB images; nil: none, which is sRGB
}

const (
	maxSegment = 1 << 20 // of metadata that is looked at
	maxParts   = 10_000  // of a file that are walked over
	maxProfile = 60_000  // fits into one segment of a JPEG; common ones have a few kilobytes
)

// readMetadata walks over the parts of a file before its pixels. What is broken there is left out: whether the image can
// be shown is for the decoder to say. The error is the reader's.
func readMetadata(r io.ReadSeeker, f photo.Format) (metadata, error) {
	var m metadata
	var err error
	switch f {
	case photo.JPEG:
		err = m.readJPEG(r)
	case photo.PNG:
		err = m.readPNG(r)
	case photo.WebP:
		err = m.readWebP(r)
	case photo.HEIC, photo.HEIF, photo.AVIF:
		err = m.readHEIF(r)
	}
	if !forRGB(m.icc) {
		m.icc = nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errBroken) {
		err = nil
	}
	return m, err
}

// errBroken ends the walk over a file that does not follow its format.
var errBroken = errors.New("imaging: broken metadata")

func (m *metadata) readJPEG(r io.ReadSeeker) error {
	if _, err := r.Seek(2, io.SeekStart); err != nil {
		return err
	}
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
	for range maxParts {
		var head [4]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		size := int(binary.BigEndian.Uint16(head[2:])) - 2
		if head[0] != 0xff || size < 0 {
			return errBroken
		}
		switch head[1] {
		case 0xda, 0xd9: // the pixels begin, or the image ends
			return nil
		case 0xe1, 0xe2:
			segment := make([]byte, size)
			if _, err := io.ReadFull(r, segment); err != nil {
				return err
			}
			if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok && m.exif == nil {
				m.exif = tiff
			}
			if part, ok := bytes.CutPrefix(segment, []byte("ICC_PROFILE\x00")); ok && len(part) > 2 && read+len(part) <= 2*maxProfile {
				read += len(part)
				profile[part[0]] = part[2:]
			}
		default:
			if _, err := r.Seek(int64(size), io.SeekCurrent); err != nil {
				return err
			}
		}
	}
	return errBroken
}

func (m *metadata) readPNG(r io.ReadSeeker) error {
	if _, err := r.Seek(8, io.SeekStart); err != nil {
		return err
	}
	for range maxParts {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		size, kind := int64(binary.BigEndian.Uint32(head[:4])), string(head[4:])
		if (kind == "eXIf" || kind == "iCCP") && size <= maxSegment {
			chunk := make([]byte, size)
			if _, err := io.ReadFull(r, chunk); err != nil {
				return err
			}
			if kind == "eXIf" {
				m.exif = chunk
			} else {
				m.icc = inflateProfile(chunk)
			}
			size = 0
		}
		if kind == "IEND" {
			return nil
		}
		if _, err := r.Seek(size+4, io.SeekCurrent); err != nil { // the checksum follows
			return err
		}
	}
	return errBroken
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

func (m *metadata) readWebP(r io.ReadSeeker) error {
	if _, err := r.Seek(12, io.SeekStart); err != nil {
		return err
	}
	for range maxParts {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		padded := size + size&1
		kind := string(head[:4])
		if (kind == "EXIF" || kind == "ICCP") && size <= maxSegment {
			chunk := make([]byte, padded)
			if _, err := io.ReadFull(r, chunk); err != nil {
				return err
			}
			if kind == "EXIF" {
				m.exif = bytes.TrimPrefix(chunk[:size], []byte("Exif\x00\x00"))
			} else {
				m.icc = chunk[:size]
			}
			continue
		}
		if _, err := r.Seek(padded, io.SeekCurrent); err != nil {
			return err
		}
	}
	return errBroken
}

func (m *metadata) readHEIF(r io.ReadSeeker) error {
	size, err := r.Seek(0, io.SeekEnd)
	if err == nil {
		m.icc, err = photo.ColorProfile(readerAt{r}, size, maxProfile)
	}
	return err
}

// forRGB reports whether a profile describes RGB colours: derived images have no others.
func forRGB(profile []byte) bool {
	return len(profile) > 128 && len(profile) <= maxProfile && string(profile[16:20]) == "RGB " && string(profile[36:40]) == "acsp"
}

// withProfile puts a colour profile into a JPEG, behind its first marker.
func withProfile(image, profile []byte) []byte {
	if len(profile) == 0 {
		return image
	}
	const name = "ICC_PROFILE\x00\x01\x01" // the first of one part
	out := make([]byte, 0, len(image)+len(profile)+len(name)+4)
	out = append(out, image[:2]...)
	out = append(out, 0xff, 0xe2)
	out = binary.BigEndian.AppendUint16(out, uint16(2+len(name)+len(profile))) //nolint:gosec // profiles are at most maxProfile
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
