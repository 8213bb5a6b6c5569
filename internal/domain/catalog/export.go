package catalog

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/assayhq/assay/internal/domain/text"
)

// YAML writes the document so that Parse gives an equal one.
func (d *Document) YAML() ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(d.tree().node); err != nil {
		return nil, fmt.Errorf("catalog: write YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("catalog: write YAML: %w", err)
	}
	return b.Bytes(), nil
}

// JSON writes the document without needless space, so that Parse gives an equal one.
func (d *Document) JSON() ([]byte, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, d.tree().node); err != nil {
		return nil, fmt.Errorf("catalog: write JSON: %w", err)
	}
	return b.Bytes(), nil
}

// checkSize refuses a document that is within the limits as it was written but not as it will be stored and exported: the
// program must be able to read what it has accepted. Small documents without aliases cannot grow so much.
func (p *parser) checkSize(top cursor, size int) {
	if size < maxBytes/16 && !top.r.aliased {
		return
	}
	for _, write := range []func() ([]byte, error){p.doc.YAML, p.doc.JSON} {
		data, err := write()
		if err != nil {
			top.problem("the document cannot be written out: %s", err)
			return
		}
		if message := exceeds(data); message != "" {
			top.problem("written out in full, %s", message)
			return
		}
	}
}

// tree is a mapping under construction. What is not stated is left out.
type tree struct{ node *yaml.Node }

func newTree() tree { return tree{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func newFlow() tree {
	t := newTree()
	t.node.Style = yaml.FlowStyle
	return t
}

func (t tree) add(key string, value *yaml.Node) {
	t.node.Content = append(t.node.Content, scalar("!!str", key), value)
}

func (t tree) str(key, value string) {
	if value != "" {
		t.add(key, scalar("!!str", value))
	}
}

func (t tree) url(key string, value *string) {
	if value != nil {
		t.str(key, *value)
	}
}

func (t tree) number(key string, value int64) {
	t.add(key, scalar("!!int", strconv.FormatInt(value, 10)))
}

func (t tree) truth(key string, value *bool) {
	if value != nil {
		t.add(key, scalar("!!bool", strconv.FormatBool(*value)))
	}
}

func (t tree) text(key string, value text.Text) {
	languages := newFlow()
	languages.str("en", value.EN)
	languages.str("ja", value.JA)
	if len(languages.node.Content) > 0 {
		t.add(key, languages.node)
	}
}

// strings adds a short list on one line; nil is not stated.
func (t tree) strings(key string, values []string) {
	if values == nil {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, value := range values {
		list.Content = append(list.Content, scalar("!!str", value))
	}
	t.add(key, list)
}

func (t tree) context(c Context) {
	t.str("category", c.Category)
	t.str("brand", c.Brand)
	t.str("model", c.Model)
}

func scalar(tag, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	// Quotes keep what plain and block styles would fold, strip or take for a break.
	odd := func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
	if tag == "!!str" && (strings.ContainsFunc(value, odd) || value != strings.TrimSpace(value)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// section adds a list of entries; an empty one is left out.
func section[T any](t tree, key string, entries []T, entry func(T) tree) {
	if len(entries) == 0 {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, e := range entries {
		list.Content = append(list.Content, entry(e).node)
	}
	t.add(key, list)
}

func (d *Document) tree() tree {
	t := newTree()
	locales := make([]string, len(d.Locales))
	for i, l := range d.Locales {
		locales[i] = string(l)
	}
	t.strings("locales", locales)
	section(t, "categories", d.Categories, Category.tree)
	section(t, "brands", d.Brands, BrandEntry.tree)
	section(t, "models", d.Models, Model.tree)
	section(t, "photo_indexes", d.PhotoIndexes, IndexRule.tree)
	section(t, "answer_times", d.AnswerTimes, AnswerTime.tree)
	section(t, "answer_time_rules", d.AnswerTimeRules, AnswerTimeRule.tree)
	section(t, "account_prices", d.AccountPrices, AccountPrice.tree)
	section(t, "reasons", d.Reasons, Reason.tree)
	section(t, "conditions", d.Conditions, Phrase.tree)
	section(t, "requirements", d.Requirements, Phrase.tree)
	return t
}

func (c Category) tree() tree {
	t := newTree()
	t.str("code", c.Code)
	t.text("name", c.Name)
	t.url("icon_url", c.IconURL)
	return t
}

func (b BrandEntry) tree() tree {
	t := newTree()
	t.str("code", b.Code)
	t.text("name", b.Name)
	t.strings("categories", append([]string{}, b.Categories...))
	return t
}

func (m Model) tree() tree {
	t := newTree()
	t.str("code", m.Code)
	t.str("brand", m.Brand)
	t.str("category", m.Category)
	t.text("name", m.Name)
	t.url("image_url", m.ImageURL)
	return t
}

func (r IndexRule) tree() tree {
	t := newTree()
	t.str("code", r.Code)
	t.context(r.Context)
	t.text("name", r.Name)
	t.truth("required", r.Required)
	if r.PhotoLimit != nil {
		t.number("photo_limit", int64(*r.PhotoLimit))
	}
	t.url("icon_url", r.IconURL)
	t.strings("example_urls", r.ExampleURLs)
	t.truth("excluded", r.Excluded)
	return t
}

func (a AnswerTime) tree() tree {
	t := newTree()
	t.number("code", int64(a.Code))
	t.text("name", a.Name)
	t.number("price", a.Price)
	t.truth("default", &a.Default)
	if a.Open != nil {
		t.add("open", a.Open.tree().node)
	}
	if a.MaxOpenOrders != 0 {
		t.number("max_open_orders", int64(a.MaxOpenOrders))
	}
	return t
}

func (w *Window) tree() tree {
	t := newFlow()
	t.str("timezone", w.Timezone)
	days := make([]string, len(w.Days))
	for i, day := range w.Days {
		days[i] = dayNames[day]
	}
	t.strings("days", days)
	t.add("from", quoted(w.From.String()))
	t.add("to", quoted(w.To.String()))
	return t
}

// quoted is text that other YAML readers take for a number when it is plain.
func quoted(value string) *yaml.Node {
	n := scalar("!!str", value)
	n.Style = yaml.DoubleQuotedStyle
	return n
}

func (r AnswerTimeRule) tree() tree {
	t := newTree()
	t.number("code", int64(r.Code))
	t.context(r.Context)
	if r.Price != nil {
		t.number("price", *r.Price)
	}
	t.truth("offered", r.Offered)
	t.truth("default", r.Default)
	return t
}

func (p AccountPrice) tree() tree {
	t := newTree()
	t.str("account", p.Account)
	t.number("code", int64(p.Code))
	t.number("price", p.Price)
	return t
}

func (r Reason) tree() tree {
	t := newTree()
	t.str("code", r.Code)
	t.str("outcome", r.Outcome)
	t.text("text", r.Text)
	return t
}

func (p Phrase) tree() tree {
	t := newTree()
	t.str("code", p.Code)
	t.text("text", p.Text)
	return t
}
