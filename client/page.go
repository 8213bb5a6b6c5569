package client

import (
	"cmp"
	"iter"
	"math"
)

// Page is one page of a list.
type Page[T any] struct {
	Data  []T `json:"data"`
	Page  int `json:"page"`  // from 1
	Limit int `json:"limit"` // size of a full page
	Total int `json:"total"` // matches in all pages
}

func (p *Page[T]) missing() string { return missingData(p.Data) }

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
			size := p.Limit
			if size <= 0 {
				size = len(p.Data)
			}
			start := (page - 1) * size
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
