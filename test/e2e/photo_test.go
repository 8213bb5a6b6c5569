package e2e_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// newPhoto returns a valid PNG of about the given size: a small picture padded with a private chunk.
func newPhoto(size int) []byte { return pictures.PadPNG(pictures.GrayPNG(16, 9), size, "") }

// upload stores some copies of a small photo and returns their managed URLs.
func upload(t *testing.T, c *client.Client, count int) []string {
	t.Helper()
	photo := newPhoto(0)
	files := make([]client.File, count)
	for i := range files {
		files[i] = client.File{Name: "photo-" + strconv.Itoa(i) + ".png", Content: bytes.NewReader(photo)}
	}
	results, err := c.UploadPhotos(t.Context(), files...)
	if err != nil {
		t.Fatal(err)
	}
	urls := make([]string, count)
	for i, result := range results {
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
		urls[i] = result.URL
	}
	return urls
}

// tote returns an order for an item of the test catalog, with one photo.
func tote(url string) client.CreateOrder {
	return client.CreateOrder{
		BrandCode: "northwind", CategoryCode: "bags", ModelCode: "northwind-tote",
		Photos: []client.OrderPhoto{{URL: url, IndexCode: "overall"}},
	}
}

// balance reads the credits of the client's environment.
func balance(ctx context.Context, t *testing.T, c *client.Client) int64 {
	t.Helper()
	b, err := c.GetBalance(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b.AvailableCredits
}
