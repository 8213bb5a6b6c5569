package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/testkit/crowd"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"golang.org/x/sync/errgroup"
)

// Row counts.
const (
	few  = 1_000
	many = 1_000_000
)

// crowds are the installations on which pages are measured.
var crowds = map[string]crowd.Wish{
	"few":     {Completed: few, Queued: few, Events: few},
	"done":    {Completed: many, Queued: few, Events: many},
	"waiting": {Completed: few, Queued: many},
}

// pageCost compares a page of an installation with many rows to the same page with few rows. Paths have
// placeholders for what differs between installations.
type pageCost struct {
	name    string
	in      string // of crowds
	path    string // nextPath is a POST
	base    string // empty: the same path with few
	noLimit bool   // known to cost more
}

var pageCosts = []pageCost{
	{name: "desk: queue, 1,000,000 completed", in: "done", path: "/desk"},
	{name: "desk: next, 1,000,000 completed", in: "done", path: nextPath},
	{name: "desk: done, 1,000,000 completed", in: "done", path: "/desk?tab=done"},
	{name: "desk: queue, 1,000,000 queued", in: "waiting", path: "/desk"},
	{name: "desk: next, 1,000,000 queued", in: "waiting", path: nextPath},
	{name: "desk: rare brand, 1,000,000 queued", in: "waiting", path: "/desk?brand=gucci&category=shoes"},
	{
		name: "desk: last page, 1,000,000 queued", in: "waiting", path: "/desk?status=queued&after={place}",
		base: "/desk?status=queued",
	},
	// The desk API has numbered pages: a deep one is found by walking the index.
	{name: "desk: GET /orders, last page", in: "waiting", path: listPath + "{page}", base: listPath + "1", noLimit: true},

	// It reads 30 days of results by turnaround: with few orders most of these counters do not exist.
	{name: "portal: overview, 1,000,000 orders", in: "done", path: "/portal/live", noLimit: true},
	{name: "portal: orders, 1,000,000", in: "done", path: "/portal/live/orders"},
	{name: "portal: orders, last page", in: "done", path: "/portal/live/orders?page={orders}"},
	{name: "portal: orders that wait", in: "done", path: "/portal/live/orders?status=update-photos"},
	{name: "portal: orders completed", in: "done", path: "/portal/live/orders?status=completed"},
	{
		name: "portal: orders of an outcome, deep", in: "done", path: "/portal/live/orders?outcome=authentic&before=500000",
		base: "/portal/live/orders?outcome=authentic",
	},
	{name: "portal: orders found", in: "done", path: "/portal/live/orders?q=SKU-none"},
	{name: "portal: audit, 1,000,000 events", in: "done", path: "/portal/audit"},
	{name: "portal: audit, last page", in: "done", path: "/portal/audit?below=30"},
	{name: "portal: audit, rare code", in: "done", path: "/portal/audit?code=api-key.created"},
	{name: "portal: audit, some days", in: "done", path: "/portal/audit?from={from}&to={to}"},
	{name: "portal: audit, one actor", in: "done", path: "/portal/audit?actor={key}"},
	{name: "portal: audit, rare code of days", in: "done", path: "/portal/audit?code=api-key.created&from={from}"},
}

const (
	nextPath = "/v1/desk/orders/next"
	listPath = "/v1/desk/orders?status=queued&page="
)

func (c *pageCost) on(e engine) string { return c.name + " " + string(e) }

// pages checks that pages cost the same with few and with many orders and events: the queue of the desk and taking
// the next order, with many completed and with many queued orders, and the lists of the portal.
func pages(ctx context.Context, s *suite) error {
	for _, e := range []engine{sqlite, postgres} { // sequentially, because they share the disk
		var wanted []pageCost
		for _, c := range pageCosts {
			if s.wanted(c.on(e)) {
				wanted = append(wanted, c)
			}
		}
		if len(wanted) == 0 {
			continue
		}
		if err := s.pagesOn(ctx, e, wanted); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

func (s *suite) pagesOn(ctx context.Context, e engine, wanted []pageCost) (err error) {
	shops := make(map[string]*signedInShop)
	for name := range crowds {
		if name == "few" || slices.ContainsFunc(wanted, func(c pageCost) bool { return c.in == name }) {
			shops[name] = new(signedInShop)
		}
	}
	defer func() {
		for _, shop := range shops {
			err = errors.Join(err, shop.close())
		}
	}()
	var seeding errgroup.Group
	for name, shop := range shops {
		seeding.Go(func() error { return shop.open(ctx, s, e, crowds[name]) })
	}
	if err := seeding.Wait(); err != nil {
		return err
	}
	for _, c := range wanted {
		measured, base, versus, limit := shops[c.in].request(c.path), shops["few"].request(c.path), "1,000", costLimit
		if c.base != "" {
			base, versus = shops[c.in].request(c.base), "the first page"
		}
		if c.noLimit {
			limit = 0
		}
		if err := s.cost(ctx, c.on(e), versus, limit, measured, base); err != nil {
			return err
		}
	}
	return nil
}

// signedInShop is an installation with sessions of the desk and the portal.
type signedInShop struct {
	*shop
	desk, portal http.Header
	places       *strings.Replacer
}

func (s *signedInShop) open(ctx context.Context, suite *suite, e engine, w crowd.Wish) (err error) {
	if s.shop, err = suite.seeded(ctx, e, w); err != nil {
		return err
	}
	if s.desk, err = s.signIn(ctx, "/desk/sign-in", s.staff.Email, s.staff.Password); err != nil {
		return err
	}
	if s.portal, err = s.signIn(ctx, "/portal/sign-in", s.account.Email, s.account.Password); err != nil {
		return err
	}
	last, err := s.lastCursor(ctx, w.Queued)
	day := func(past int) string {
		return time.Now().AddDate(0, 0, -past).UTC().Format(time.DateOnly)
	}
	s.places = strings.NewReplacer("{place}", last, "{page}", strconv.Itoa(w.Queued/50), "{orders}",
		strconv.Itoa((w.Completed+w.Queued)/25),
		"{key}", s.key.ID, "{from}", day(20), "{to}", day(19))
	return err
}

func (s *signedInShop) close() error {
	if s.shop == nil {
		return nil
	}
	return s.shop.close()
}

// request returns a request for a path.
func (s *signedInShop) request(path string) *pageRequest {
	v := &pageRequest{server: s.server, method: http.MethodGet, path: s.places.Replace(path), header: s.portal}
	switch {
	case path == nextPath:
		v.method, v.header, v.after = http.MethodPost, s.staffHeader(), s.release
	case strings.HasPrefix(path, listPath):
		v.header = s.staffHeader()
	case strings.HasPrefix(path, "/desk"):
		v.header = s.desk
	}
	return v
}

func (i *installation) staffHeader() http.Header {
	return http.Header{"Authorization": {"Bearer " + i.staff.Token}}
}

// release returns claimed orders to the queue directly in the database.
func (s *shop) release(ctx context.Context) error {
	return errors.Join(
		rawsql.Run(ctx, s.target(), "UPDATE orders SET status = 'queued', assignee_id = NULL, claimed_at = NULL WHERE "+
			"environment = 'live' AND status = 'processing'"),
		rawsql.Run(ctx, s.target(), "UPDATE live_order_counts SET orders = 0 WHERE status = 'processing'"),
	)
}

// signIn signs in and returns the request header with the session.
func (s *shop) signIn(ctx context.Context, path, email, password string) (http.Header, error) {
	form := url.Values{"email": {email}, "password": {password}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.server.http+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	header := http.Header{}
	for _, c := range response.Cookies() {
		header.Add("Cookie", c.Name+"="+c.Value)
	}
	if response.StatusCode != http.StatusSeeOther || len(header) == 0 {
		return nil, fmt.Errorf("sign in at %s: status %d", path, response.StatusCode)
	}
	return header, nil
}

// lastCursor returns the cursor of the last page of the queue.
func (s *shop) lastCursor(ctx context.Context, queued int) (string, error) {
	answer, err := exchange(ctx, http.MethodGet, fmt.Sprintf("http://%s%s%d", s.server.http, listPath, queued/50-1),
		s.staffHeader(), nil, http.StatusOK)
	if err != nil {
		return "", err
	}
	var list struct {
		Data []struct {
			ID  string    `json:"id"`
			Due time.Time `json:"due_date"`
		}
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 {
		return "", errors.New("the queue is shorter than it should be")
	}
	last := list.Data[len(list.Data)-1]
	return fmt.Sprintf("%d-%s", last.Due.UnixMicro(), last.ID), nil
}
