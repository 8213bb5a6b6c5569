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
// It returns nil when the photo is not a grid.
func decodeGrid(r io.ReadSeeker) (*pixels, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	g, ok := photo.ReadGrid(readerAt{r}, size)
	if !ok {
		return nil, nil
	}
	if len(g.Tiles) > maxTiles {
		return nil, fmt.Errorf("it has %d tiles", len(g.Tiles))
	}
	if err := checkSize(image.Pt(g.Width, g.Height)); err != nil {
		return nil, err
	}
	file := make([]byte, size)
	if _, err := (readerAt{r}).ReadAt(file, 0); err != nil {
		return nil, err
	}
	tileSize := image.Pt(g.TileWidth, g.TileHeight)
	whole := newPlanes(image.Pt(g.Width, g.Height))
	columns := (g.Width + g.TileWidth - 1) / g.TileWidth
	for i := range g.Tiles {
		tile, err := heic.Decode(bytes.NewReader(g.TileFile(file, i)))
		if err != nil {
			return nil, err
		}
		if tile.Bounds().Size() != tileSize {
			return nil, fmt.Errorf("tile %d is of %v, not %v", i, tile.Bounds().Size(), tileSize)
		}
		corner := image.Pt(i%columns*tileSize.X, i/columns*tileSize.Y)
		part := image.Rectangle{Min: corner, Max: corner.Add(tileSize)}.Intersect(whole.Rect)
		p := painter{to: whole, at: part.Min, size: part.Size()}
		in, buf := rowsOf(tile), make([]byte, 4*tileSize.X)
		for y := range part.Dy() {
			p.paint(y, in(y, buf)[:4*part.Dx()])
		}
	}
	p := wholly(whole)
	p.orientation = [4]int{1, 8, 3, 6}[g.Turns]
	return p, nil
}
