package imaging

import (
	"bytes"
	"fmt"
	"image"
	"io"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/gen2brain/heic"
)

const maxTiles = 1024 // of a photo; phones make some fifty

// decodeGrid decodes a HEIC photo tile by tile, where the decoder would put the photo together several times in memory.
// It reports false, and has done nothing, when the photo is not a grid.
func decodeGrid(r io.ReadSeeker, begin func(image.Point) (pixelSink, error)) (bool, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	g, ok := photo.ReadGrid(readerAt{r}, size)
	if !ok {
		return false, nil
	}
	if len(g.Tiles) > maxTiles {
		return true, fmt.Errorf("it has %d tiles", len(g.Tiles))
	}
	file := make([]byte, size)
	if _, err := (readerAt{r}).ReadAt(file, 0); err != nil {
		return true, err
	}
	orientation := [4]int{1, 8, 3, 6}[g.Turns]
	whole, tileSize := image.Rect(0, 0, g.Width, g.Height), image.Pt(g.TileWidth, g.TileHeight)
	sink, err := begin(turned(whole, whole, orientation).Size())
	if err != nil {
		return true, err
	}
	columns := (g.Width + g.TileWidth - 1) / g.TileWidth
	for i := range g.Tiles {
		tile, err := heic.Decode(bytes.NewReader(g.TileFile(file, i)))
		if err != nil {
			return true, err
		}
		if tile.Bounds().Size() != tileSize {
			return true, fmt.Errorf("tile %d is of %v, not %v", i, tile.Bounds().Size(), tileSize)
		}
		corner := image.Pt(i%columns*tileSize.X, i/columns*tileSize.Y)
		part := image.Rectangle{Min: corner, Max: corner.Add(tileSize)}.Intersect(whole)
		visible := onWhite(tile, part.Size())
		writeImage(sink, turned(part, whole, orientation).Min, upright(visible, orientation))
	}
	return true, nil
}

// turned returns where a part of a photo is once the photo is upright.
func turned(part, photo image.Rectangle, orientation int) image.Rectangle {
	w, h := photo.Dx(), photo.Dy()
	switch orientation {
	case 3:
		return image.Rect(w-part.Max.X, h-part.Max.Y, w-part.Min.X, h-part.Min.Y)
	case 6:
		return image.Rect(h-part.Max.Y, part.Min.X, h-part.Min.Y, part.Max.X)
	case 8:
		return image.Rect(part.Min.Y, w-part.Max.X, part.Max.Y, w-part.Min.X)
	}
	return part
}
