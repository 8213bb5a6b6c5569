package client

import (
	"cmp"
	"iter"
	"math"
	"time"
)

// Page is one page of a list.
type Page[T any] struct {
	Data  []T `json:"data"`
	Page  int `json:"page"`  // from 1
	Limit int `json:"limit"` // size of a full page
	Total int `json:"total"` // matches in all pages
}

func (p *Page[T]) missing() string { return missingData(p.Data) }

// start returns how many entries come before the page with this number.
func (p *Page[T]) start(page int) int {
	size := p.Limit
	if size <= 0 {
		size = len(p.Data)
	}
	return (page - 1) * size
}

// list is an answer with all entries.
type list[T any] struct {
	Data []T `json:"data"`
}

func (l *list[T]) missing() string { return missingData(l.Data) }

func missingData[T any](data []T) string {
	if data == nil {
		return "data"
	}
	return ""
}

// listOrder says how a list changes while it is read page by page.
type listOrder int

const (
	anyOrder    listOrder = iota
	newestFirst           // entries are only added, and at the front
)

// all returns the entries of all pages from the given one on. An error is yielded once and ends the iteration.
//
// While a list that grows at its front is read, entries move to later pages and would be seen twice. Each entry has a
// fixed rank counted from the oldest, though; an entry is yielded only if its rank is below the last one's.
func all[T any](first int, order listOrder, fetch func(page int) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		lastRank := math.MaxInt
		for page := cmp.Or(first, 1); ; page++ {
			p, err := fetch(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			start := p.start(page)
			for i, entry := range p.Data {
				rank := p.Total - start - i
				if order == newestFirst && rank >= lastRank {
					continue
				}
				lastRank = rank
				if !yield(entry, nil) {
					return
				}
			}
			if len(p.Data) == 0 || start+len(p.Data) >= p.Total {
				return
			}
		}
	}
}

// allByUpdate goes through a list in the sequence of changes. An order that changes leaves its place for the end, and
// those behind it move to earlier pages: the next page is therefore asked for by the time of the last order, and what
// was seen of that moment is not yielded again. Only where a page has a single moment is the next one taken by number.
func allByUpdate(
	q OrdersQuery, fetch func(OrdersQuery) (*Page[OrderListItem], error),
) iter.Seq2[OrderListItem, error] {
	return func(yield func(OrderListItem, error) bool) {
		q := q
		q.Page = cmp.Or(q.Page, 1)
		var last time.Time
		seen := make(map[string]bool) // ids of that moment
		for {
			p, err := fetch(q)
			if err != nil {
				yield(OrderListItem{}, err)
				return
			}
			for _, order := range p.Data {
				if at := order.UpdatedAt; at != nil && !at.Equal(last) {
					last = *at
					clear(seen)
				}
				if seen[order.ID] {
					continue
				}
				seen[order.ID] = true
				if !yield(order, nil) {
					return
				}
			}
			if len(p.Data) == 0 || p.start(q.Page)+len(p.Data) >= p.Total {
				return
			}
			if last.After(q.UpdatedSince) {
				q.UpdatedSince, q.Page = last, 1
			} else {
				q.Page++
			}
		}
	}
}
