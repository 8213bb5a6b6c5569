package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// creation is what the row of an order keeps of how it was created, as JSON: rows of their own would cost each creation
// more than the order itself.
type creation struct {
	KeyName string          `json:"key_name"` // at that time
	Photos  []creationPhoto `json:"photos"`

	at    time.Time
	keyID string
}

type creationPhoto struct {
	IndexCode string `json:"index_code"`
	Name      string `json:"name"`
}

func encodeCreation(keyName string, photos []order.Photo) (string, error) {
	c := creation{KeyName: keyName, Photos: make([]creationPhoto, len(photos))}
	for i, p := range photos {
		c.Photos[i] = creationPhoto{p.IndexCode, p.Name}
	}
	text, err := json.Marshal(&c)
	return string(text), err
}

// decodeCreation reads what encodeCreation has written, which always lists photos: without a list they are lost.
func decodeCreation(text string, c *creation) error {
	err := json.Unmarshal([]byte(text), c)
	if err == nil && c.Photos == nil {
		err = errors.New("no photos are listed")
	}
	return err
}

// creation returns how an order was created. An order that does not exist has no photos and no history.
func (q Queries) creation(ctx context.Context, orderID string) (*creation, error) {
	c := new(creation)
	var text string
	err := q.db.Row(ctx, "SELECT created_at, api_key_id, creation FROM orders WHERE id = $1", []any{orderID},
		column.Time(&c.at), &c.keyID, &text)
	if err != nil {
		return nil, err
	}
	return c, readable(orderID, decodeCreation(text, c))
}

// photos are those of round 0, with room for later ones.
func (c *creation) photos() []order.Photo {
	photos := make([]order.Photo, len(c.Photos))
	for i, p := range c.Photos {
		photos[i] = order.Photo{Name: p.Name, IndexCode: p.IndexCode}
	}
	return photos
}

// entry is the first of the timeline.
func (c *creation) entry() order.TimelineEntry {
	by := access.Actor{Kind: access.ByAPIKey, ID: c.keyID, Name: c.KeyName}
	return order.TimelineEntry{At: c.at, Event: order.EventCreated, Actor: by, Details: map[string]any{}}
}

// InsertOrderPhotos adds the photos of one round after the creation, in the order they were sent.
func (t *Tx) InsertOrderPhotos(orderID string, round int, photos []order.Photo) error {
	const columns = 5
	args := make([]any, 0, columns*len(photos))
	for i, p := range photos {
		args = append(args, orderID, round, i, p.IndexCode, column.TextOrNull(p.Name))
	}
	return t.exec("INSERT INTO order_photos (order_id, round, position, index_code, photo) VALUES "+
		db.Tuples(len(photos), columns), args...)
}

// OrderPhotos returns all photos of an order: those of its creation, then those of each round. An order that does not
// exist has none.
func (q Queries) OrderPhotos(ctx context.Context, orderID string) ([]order.Photo, error) {
	c, err := q.creation(ctx, orderID)
	if errors.Is(err, ErrNotFound) {
		return []order.Photo{}, nil
	}
	if err != nil {
		return nil, err
	}
	return q.withLaterPhotos(ctx, orderID, c)
}

func (q Queries) withLaterPhotos(ctx context.Context, orderID string, c *creation) ([]order.Photo, error) {
	later, err := db.Collect(ctx, q.db, func(scan db.Scanner) (p order.Photo, err error) {
		err = scan(column.Text(&p.Name), &p.IndexCode, &p.Round)
		return p, err
	}, "SELECT photo, index_code, round FROM order_photos WHERE order_id = $1 ORDER BY round, position", orderID)
	return append(c.photos(), later...), err
}

// OrderPhotoFiles returns the photos of an order that were provided, each file once, in the order they were sent.
func (q Queries) OrderPhotoFiles(ctx context.Context, orderID string) ([]order.PhotoFile, error) {
	photos, err := q.OrderPhotos(ctx, orderID)
	if err != nil {
		return nil, err
	}
	stored, err := q.photosOf(ctx, photos)
	if err != nil {
		return nil, err
	}
	var files []order.PhotoFile
	for _, p := range photos {
		if s, ok := stored[p.Name]; ok {
			files = append(files, order.PhotoFile{
				Name: p.Name, IndexCode: p.IndexCode, SHA256: s.SHA256, Erased: s.Erased,
			})
			delete(stored, p.Name)
		}
	}
	return files, nil
}

// PhotosOfOrder returns what is known of the files of an order's photos, by name.
func (q Queries) PhotosOfOrder(ctx context.Context, orderID string) (map[string]photo.Stored, error) {
	photos, err := q.OrderPhotos(ctx, orderID)
	if err != nil {
		return nil, err
	}
	return q.photosOf(ctx, photos)
}

// photosOf returns what is known of photos, by name.
func (q Queries) photosOf(ctx context.Context, photos []order.Photo) (map[string]photo.Stored, error) {
	names := make([]string, 0, len(photos))
	for _, p := range photos {
		if p.Name != "" { // else it could not be provided
			names = append(names, p.Name)
		}
	}
	return q.PhotosNamed(ctx, names)
}
