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

	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// pageStocks are the installations on which pages are measured.
func (s *suite) pageStocks(e engine) map[string]stock {
	size := s.many
	if e == postgres {
		size = s.postgres
	}
	ended := stock{name: "pages", orders: size, queued: batch / 100, waiting: batch / 100, events: min(s.events, size)}
	few, queued := ended, ended
	few.name, few.orders, few.events = "spread", batch, batch
	few.queued, few.waiting = batch/10, batch/10 // full pages of them, as among many
	queued.name, queued.queued, queued.events = "queued", batch*98/100, batch
	return map[string]stock{"few": few, "ended": ended, "queued": queued}
}

// pageCost compares a page of an installation with many rows to the same page with few rows. Paths have
// placeholders for what differs between installations.
type pageCost struct {
	name string
	in   string // of pageStocks
	path string // nextPath is a POST
	base string // empty: the same path with few
	want string // what the page contains, so that it is not an empty one
	goal goal
}

// row is what a page with at least one order contains, entry one with an event of the audit log.
const (
	deskRow     = `href="/desk/orders/`
	portalRow   = `href="/portal/live/orders/`
	portalEvent = "<td"
)

var pageCosts = []pageCost{
	{name: "desk: queue, many ended", in: "ended", path: "/desk", want: deskRow},
	{name: "desk: next, many ended", in: "ended", path: nextPath, want: `"status":"processing"`},
	{name: "desk: done, many ended", in: "ended", path: "/desk?tab=done"},
	{name: "desk: queue, many queued", in: "queued", path: "/desk", want: deskRow},
	{name: "desk: next, many queued", in: "queued", path: nextPath, want: `"status":"processing"`},
	{name: "desk: rare brand, many queued", in: "queued", path: "/desk?brand=gucci&category=shoes"},
	{
		name: "desk: last page, many queued", in: "queued", path: "/desk?status=queued&after={place}",
		base: "/desk?status=queued",
	},
	// The desk API has numbered pages: a deep one is found by walking the index.
	{
		name: "desk: GET /orders, last page", in: "queued", path: listPath + "{page}", base: listPath + "1", want: `"id":"`,
		goal: goal{value: -1},
	},

	{name: "portal: overview", in: "ended", path: "/portal/live", goal: atMost(1.3)},
	{name: "portal: orders", in: "ended", path: "/portal/live/orders", want: portalRow},
	{name: "portal: orders, last page", in: "ended", path: "/portal/live/orders?page={orders}", want: portalRow},
	{
		name: "portal: orders that wait", in: "ended", path: "/portal/live/orders?status=update-photos",
		want: portalRow,
	},
	{name: "portal: orders completed", in: "ended", path: "/portal/live/orders?status=completed", want: portalRow},
	{
		name: "portal: orders of an outcome, deep", in: "ended", path: "/portal/live/orders?outcome=authentic&before={half}",
		base: "/portal/live/orders?outcome=authentic", want: portalRow,
	},
	{name: "portal: orders searched, none found", in: "ended", path: "/portal/live/orders?q=SKU-none"},
	{name: "portal: audit", in: "ended", path: "/portal/audit", want: portalEvent},
	{name: "portal: audit, last page", in: "ended", path: "/portal/audit?below=30", want: portalEvent},
	{name: "portal: audit, rare code", in: "ended", path: "/portal/audit?code=api-key.created", want: portalEvent},
	{name: "portal: audit, some days", in: "ended", path: "/portal/audit?from={from}&to={to}", want: portalEvent},
	{name: "portal: audit, one actor", in: "ended", path: "/portal/audit?actor={key}"},
	{name: "portal: audit, rare code of days", in: "ended", path: "/portal/audit?code=api-key.created&from={from}"},
}

const (
	nextPath = "/v1/desk/orders/next"
	listPath = "/v1/desk/orders?status=queued&page="
)

// on returns the name of the figure on an engine.
func (c *pageCost) on(s *suite, e engine) string {
	return fmt.Sprintf("%s, %s orders, %s", c.name, count(s.pageStocks(e)[c.in].orders), e)
}

// pages checks that pages cost the same with few and with many orders and events: the queue of the desk and taking
// the next order, with many ended and with many queued orders, and the lists of the portal.
func pages(ctx context.Context, s *suite) error {
	for _, e := range []engine{sqlite, postgres} { // sequentially, because they share the disk
		var wanted []pageCost
		for _, c := range pageCosts {
			if s.wanted(c.on(s, e)) {
				wanted = append(wanted, c)
			}
		}
		if len(wanted) == 0 || s.leavesOut(e == postgres) {
			continue
		}
		if err := s.thenClose(func() error { return s.pagesOn(ctx, e, wanted) }); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

func (s *suite) pagesOn(ctx context.Context, e engine, wanted []pageCost) error {
	shops := make(map[string]*signedInShop)
	for name, w := range s.pageStocks(e) {
		if name == "few" || slices.ContainsFunc(wanted, func(c pageCost) bool { return c.in == name }) {
			shop := new(signedInShop)
			shops[name] = shop
			if err := shop.open(ctx, s, e, w); err != nil {
				return err
			}
		}
	}
	for _, c := range wanted {
		measured, base, versus := shops[c.in].request(&c, c.path), shops["few"].request(&c, c.path), count(batch)+" orders"
		if c.base != "" {
			base, versus = shops[c.in].request(&c, c.base), "the first page"
		}
		g := c.goal
		switch g.value {
		case 0:
			g = atMost(costLimit)
		case -1: // known to cost more
			g = goal{}
		}
		if err := s.cost(ctx, c.on(s, e), versus, g, measured, base); err != nil {
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

func (s *signedInShop) open(ctx context.Context, suite *suite, e engine, w stock) error {
	var err error
	if s.shop, err = suite.launchFilled(ctx, e, w); err != nil {
		return err
	}
	if s.desk, err = s.signIn(ctx, "/desk/sign-in", s.Staff.Email, s.Staff.Password); err != nil {
		return err
	}
	owner := s.Accounts[0]
	if s.portal, err = s.signIn(ctx, "/portal/sign-in", owner.Email, owner.Password); err != nil {
		return err
	}
	queued := w.orders / batch * w.queued
	last, err := s.lastCursor(ctx, max(100, queued))
	day := func(past int) string {
		return time.Now().AddDate(0, 0, -past).UTC().Format(time.DateOnly)
	}
	s.places = strings.NewReplacer("{place}", last, "{page}", strconv.Itoa(max(1, queued/50)), "{orders}",
		strconv.Itoa(w.orders/25), "{half}", strconv.Itoa(w.orders/2),
		"{key}", owner.Live.ID, "{from}", day(20), "{to}", day(19))
	return err
}

// request returns a request for a path.
func (s *signedInShop) request(c *pageCost, path string) *pageRequest {
	v := &pageRequest{
		server: s.server, method: http.MethodGet, path: s.places.Replace(path), header: s.portal, want: c.want,
		few: c.goal.value < 0,
	}
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
		s.staffHeader(), nil)
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
