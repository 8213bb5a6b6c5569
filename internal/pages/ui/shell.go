package ui

import "strings"

// Shell is the frame around the pages of an area for one visitor.
type Shell struct {
	Label  string // of the area, beside the product's name: a text, not a key
	Home   string // where the name leads to
	Groups []NavGroup
	User   *UserMenu
	Search *SearchBox // above the navigation; nil: none
	Notice string     // said on every page, for example that this is the Test environment; empty: nothing
}

// SearchBox is the form that looks for something in all of an area. It has one field, q. Small screens have no room for
// it: an item of the navigation leads to its page there.
type SearchBox struct {
	Action string
	Label  string // what is looked for
	Short  string // shown in the empty field
}

// NavGroup is links that belong together; a label is optional.
type NavGroup struct {
	Label string
	Items []NavItem
}

// NavItem is one link of the navigation.
type NavItem struct {
	Href  string
	Label string
	Icon  string // a name that {{icon}} knows
	Count int    // shown beside the label when it is not 0

	Narrow  bool // shown on small screens only
	Wide    bool // shown on large screens only: small ones have another way there
	Current bool // set by Render for the item whose address is the longest prefix of the page's
}

// UserMenu shows who is signed in.
type UserMenu struct {
	Name    string
	Detail  string // role or account
	Href    string // own settings; empty: none
	SignOut string // where the form to sign out posts to
}

// markCurrent marks the item that the page belongs to. The own settings of the user may be an item or not.
func (s *Shell) markCurrent(path string) {
	var best *NavItem
	if s.User != nil && within(path, s.User.Href) {
		best = &NavItem{Href: s.User.Href}
	}
	for g := range s.Groups {
		for i := range s.Groups[g].Items {
			item := &s.Groups[g].Items[i]
			base, _, _ := strings.Cut(item.Href, "?")
			if within(path, base) && (best == nil || len(base) >= len(best.Href)) {
				best = item
			}
		}
	}
	if best != nil {
		best.Current = true
	}
}

// within reports whether a page is at an address or below it.
func within(path, base string) bool {
	return base != "" && (path == base || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/"))
}

// Plain reports whether there is nothing to show around the page.
func (s Shell) Plain() bool { return len(s.Groups) == 0 && s.User == nil }
