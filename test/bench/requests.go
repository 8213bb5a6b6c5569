package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"

	"github.com/assayhq/assay/client"
)

const (
	prefix       = "/v1/integrations"
	bareHandler  = "a bare net/http handler"
	sampleOrders = 500
	pageLimit    = 10
)

// requests compares single operations with a bare handler that sends the same bytes.
func (s *suite) requests(ctx context.Context, e engine) (err error) {
	names := map[string]string{}
	some := false
	for _, operation := range []string{"GET /orders/{id}", "GET /orders", "GET /catalog/brands", "POST /orders"} {
		names[operation] = operation + " " + string(e)
		some = some || s.wanted(names[operation])
	}
	if !some {
		return nil
	}
	i, err := s.seeded(ctx, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	plain, err := s.startBare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.stop()) }()

	draft, err := i.draft(ctx)
	if err != nil {
		return err
	}
	ids, err := i.create(ctx, draft, sampleOrders)
	if err != nil {
		return err
	}
	details := make([]string, len(ids))
	for n, id := range ids {
		details[n] = prefix + "/orders/" + id
	}
	body, err := json.Marshal(draft)
	if err != nil {
		return err
	}
	list := []string{fmt.Sprintf("%s/orders?page=1&limit=%d", prefix, pageLimit)}
	brands := []string{prefix + "/catalog/brands"}
	for _, operation := range []struct {
		name, method string
		paths        []string
		body         []byte
		status       int
	}{
		{"GET /orders/{id}", http.MethodGet, details, nil, http.StatusOK},
		{"GET /orders", http.MethodGet, list, nil, http.StatusOK},
		{"GET /catalog/brands", http.MethodGet, brands, nil, http.StatusOK},
		{"POST /orders", http.MethodPost, []string{prefix + "/orders"}, body, http.StatusCreated},
	} {
		if !s.wanted(names[operation.name]) {
			continue
		}
		header := i.header()
		if operation.body != nil {
			header.Set("Content-Type", "application/json")
		}
		answer, err := exchange(ctx, operation.method, "http://"+i.server.http+operation.paths[0], header, operation.body,
			operation.status)
		if err != nil {
			return err
		}
		for _, path := range operation.paths {
			if err := plain.answer(ctx, path, answer); err != nil {
				return err
			}
		}
		if err := s.compare(ctx, names[operation.name], bareHandler,
			newTarget(i.server, operation.method, operation.paths, header, operation.body, operation.status),
			newTarget(plain.server, operation.method, operation.paths, header, operation.body, operation.status)); err != nil {
			return err
		}
	}
	return nil
}

// exchange sends a request and returns the response body.
func exchange(ctx context.Context, method, url string, header http.Header, body []byte, status int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s %s: status %d, want %d\n%s", method, url, response.StatusCode, status, answer)
	}
	return answer, err
}

// client returns a client over plain HTTP.
func (s *shop) client() (*client.Client, error) {
	return client.New("http://"+s.server.http+prefix, s.key.Secret, client.WithoutRetry())
}

// draft uploads the photos for an order of the demo catalog, and returns the order.
func (s *shop) draft(ctx context.Context) (*client.CreateOrder, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	draft := &client.CreateOrder{BrandCode: "chanel", CategoryCode: "bags"}
	indexes, err := c.PhotoIndexes(ctx, client.PhotoIndexesQuery{
		CategoryCode: draft.CategoryCode, BrandCode: draft.BrandCode,
	})
	if err != nil {
		return nil, err
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		return nil, err
	}
	for _, index := range indexes {
		if !index.Required {
			continue
		}
		results, err := c.UploadPhotos(ctx, client.File{Name: index.Code + ".png", Content: bytes.NewReader(picture.Bytes())})
		if err != nil {
			return nil, err
		}
		draft.Photos = append(draft.Photos, client.OrderPhoto{URL: results[0].URL, IndexCode: index.Code})
	}
	return draft, nil
}

// create creates orders and returns their ids.
func (s *shop) create(ctx context.Context, draft *client.CreateOrder, count int) ([]string, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	ids := make([]string, count)
	for n := range ids {
		created, err := c.CreateOrder(ctx, *draft)
		if err != nil {
			return nil, err
		}
		ids[n] = created.ID
	}
	return ids, nil
}
