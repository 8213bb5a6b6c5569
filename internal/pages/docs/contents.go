package docs

import (
	"html/template"
	"strings"

	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
)

// contents is a part of the navigation of the site.
type contents struct {
	Label string
	Links []link
}

// contents are all pages, with the one at the path marked.
func (d *Docs) contents(path string, l text.Locale) []contents {
	var out []contents
	for i, g := range guides.Groups {
		c := contents{Label: d.t(l, "docs.group."+g.Name)}
		if i == 0 {
			c.Links = append(c.Links, link{Href: Path, Label: d.t(l, "docs.overview")})
		}
		for _, name := range g.Guides {
			c.Links = append(c.Links, link{Href: address(name), Label: guideTitle(name, l)})
		}
		out = append(out, c)
	}
	reference := contents{Label: d.t(l, "docs.nav.reference")}
	reference.Links = append(reference.Links, link{Href: referencePath, Label: d.t(l, "docs.reference.short")})
	for _, tag := range tags {
		label := tag
		if l != text.English {
			label = d.t(l, "docs.tag."+strings.ToLower(tag)+".name")
		}
		reference.Links = append(reference.Links, link{Href: tagPath(tag), Label: label})
	}
	reference.Links = append(reference.Links, link{Href: deskPath, Label: d.t(l, "docs.nav.desk")})
	out = append(out, reference)
	for i := range out {
		for j := range out[i].Links {
			out[i].Links[j].Current = out[i].Links[j].Href == path
		}
	}
	return out
}

// guideTitle is the first line of a guide.
func guideTitle(name string, l text.Locale) string {
	content, err := guides.Read(name, l)
	if err != nil {
		return name
	}
	first, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimPrefix(first, "# ")
}

// neighbours are the pages before and after the current one.
func neighbours(all []contents) (previous, next *link) {
	var links []link
	for _, c := range all {
		links = append(links, c.Links...)
	}
	for i := range links {
		if !links[i].Current {
			continue
		}
		if i > 0 {
			previous = &links[i-1]
		}
		if i+1 < len(links) {
			next = &links[i+1]
		}
	}
	return previous, next
}

// card leads to a guide and tells what it is about.
type card struct{ Href, Title, Lead string }

// cards are the guides, for the overview.
func (d *Docs) cards(l text.Locale) (template.HTML, error) {
	var out []card
	for _, name := range guides.Names()[1:] {
		g, err := d.readGuide(name, l)
		if err != nil {
			return "", err
		}
		out = append(out, card{address(name), g.Title, g.Lead})
	}
	return d.fragment("cards.html", l, out)
}
