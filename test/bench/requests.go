package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/assayhq/assay/internal/testkit/pictures"
)

// requiredPhotos are the photos that a bag of this brand needs in the demo catalog.
var requiredPhotos = []string{"overall-picture", "brand-stamp", "serial-number"}

// smallPhoto returns a small photo that differs from all others by its mark.
func smallPhoto(mark string) io.Reader {
	return bytes.NewReader(pictures.PadPNG(pictures.GrayPNG(8, 8), 0, mark))
}

// exchange sends a request that is answered with 200 and returns the response body.
func exchange(ctx context.Context, method, url string, header http.Header, body []byte) ([]byte, error) {
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
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: status %d\n%s", method, url, response.StatusCode, answer)
	}
	return answer, err
}

// creation returns a load of creations for some accounts: Live, each with an external id and an idempotency key of its
// own, with photos in rotation.
func (s *shop) creation(ctx context.Context, accounts int) (*target, error) {
	all := new(target)
	for n := range accounts {
		one, err := s.creationFor(ctx, n, max(5, creationDrafts/accounts))
		if err != nil {
			return nil, err
		}
		one.requests = append(all.requests, one.requests...)
		all = one
	}
	for i := range all.requests { // neighbors are of different accounts
		k := i * 7919 % len(all.requests)
		all.requests[i], all.requests[k] = all.requests[k], all.requests[i]
	}
	return all, nil
}

const creationDrafts = 100 // with three photos each

// creationFor is creation for one account.
func (s *shop) creationFor(ctx context.Context, account, count int) (*target, error) {
	drafts, err := s.drafts(ctx, account, count)
	if err != nil {
		return nil, err
	}
	bodies := make([][]byte, len(drafts))
	for i, draft := range drafts {
		draft.ExternalID = unique
		if bodies[i], err = json.Marshal(draft); err != nil {
			return nil, err
		}
	}
	header := s.Accounts[account].Live.header()
	header.Set("Content-Type", "application/json")
	header.Set("Idempotency-Key", unique)
	return newTarget(s.server, http.MethodPost, []string{prefix + "/orders"}, header, bodies, http.StatusCreated), nil
}

// details returns a load of order details spread over all orders.
func (s *shop) details(ctx context.Context) (*target, error) {
	const count = 2_000
	paths := make([]string, count)
	for n, id := range s.ids(count) {
		paths[n] = prefix + "/orders/" + id
	}
	t := newTarget(s.server, http.MethodGet, paths, s.header(), nil, http.StatusOK)
	return t, t.learn(ctx)
}

// detailsBeside is details with the same answers of a bare server.
func (s *shop) detailsBeside(ctx context.Context, plain *bare) (details, same *target, err error) {
	if details, err = s.details(ctx); err != nil {
		return nil, nil, err
	}
	same, err = plain.mirror(ctx, details)
	return details, same, err
}

const (
	pageLimit  = 10
	brandsPath = prefix + "/catalog/brands"
)

// orderPage is the path of one page of the list.
func orderPage(page int) string {
	return fmt.Sprintf("%s/orders?page=%d&limit=%d", prefix, page, pageLimit)
}

// get returns a load of one path.
func (s *shop) get(ctx context.Context, path string) (*target, error) {
	t := newTarget(s.server, http.MethodGet, []string{path}, s.header(), nil, http.StatusOK)
	return t, t.learn(ctx)
}

// bodyOf returns the body of a request as it is sent.
func bodyOf(request []byte) []byte {
	_, body, _ := bytes.Cut(request, []byte("\r\n\r\n"))
	return body
}
