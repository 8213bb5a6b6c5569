package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/text"
)

// maxAnswerTimes bounds the answer times: they are offered as one list, without pages.
const maxAnswerTimes = 1000

// sectionKeys are the properties of a document.
var sectionKeys = []string{
	"locales", "categories", "brands", "models", "photo_indexes", "answer_times", "answer_time_rules", "account_prices",
	"reasons", "conditions", "requirements",
}

// outcomes that a reason can belong to.
var outcomes = []string{"authentic", "fake", "unable-to-verify"}

// Parse reads a catalog document, YAML or JSON. Its error is a *DocumentError with every broken rule. Whether the
// accounts in account_prices exist it does not know: ParseFor does.
func Parse(data []byte) (*Document, error) { return read(data, func(*parser) {}) }

// ParseFor is Parse for an installation with these accounts, a map from account name to account id as that of
// NewSnapshot: a price for any other account is a broken rule as well.
func ParseFor(data []byte, accounts map[string]string) (*Document, error) {
	return read(data, func(p *parser) { p.checkAccounts(accounts) })
}

func read(data []byte, checkMore func(*parser)) (*Document, error) {
	root, problems := source(data)
	if problems != nil {
		return nil, documentError(problems)
	}
	r := &reader{}
	top := r.at(root, "")
	if !top.present() {
		return nil, documentError([]Problem{{Line: 1, Message: "the document is empty"}})
	}
	o, ok := top.object(sectionKeys...)
	if !ok {
		return nil, documentError(r.problems)
	}

	p := &parser{
		doc: &Document{Locales: slices.Clone(text.Locales)}, zones: make(map[string]*time.Location),
		unreadable: make(map[string]bool),
	}
	p.locales(o.get("locales"))
	p.categories(o.get("categories"))
	p.brands(o.get("brands"))
	p.models(o.get("models"))
	p.photoIndexes(o.get("photo_indexes"))
	p.answerTimes(o.get("answer_times"))
	p.answerTimeRules(o.get("answer_time_rules"))
	p.accountPrices(o.get("account_prices"))
	p.reasons(o.get("reasons"))
	p.doc.Conditions = p.phrases(o.get("conditions"))
	p.doc.Requirements = p.phrases(o.get("requirements"))
	if !r.stopped {
		p.check()
	}
	checkMore(p)
	if len(r.problems) == 0 {
		p.checkSize(top, len(data))
	}
	if len(r.problems) > 0 {
		return nil, documentError(r.problems)
	}
	return p.doc, nil
}

// parser collects the entries of a document and the mapping that each came from, for the checks that follow.
type parser struct {
	doc   *Document
	zones map[string]*time.Location

	checks int // rules looked at in contexts

	// Sections that could not be read as lists. References to them are not checked: they would all be reported.
	unreadable map[string]bool

	servedAt   [][]cursor // the categories of each brand, and of each reason that names some
	modelAt    []object
	indexAt    []object
	faultyName []bool // of each index rule: its name was reported already
	timeAt     []object
	ruleAt     []object
	priceAt    []object
}

// entries reads the mappings of a section.
func (p *parser) entries(section cursor, known ...string) []object {
	elements, ok := section.list()
	if !ok {
		p.unreadable[section.path] = true
	}
	objects := make([]object, 0, len(elements))
	for _, element := range elements {
		if o, ok := element.object(known...); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

// locales checks the fixed list of languages, which the document states for its readers.
func (p *parser) locales(c cursor) {
	elements, ok := c.list()
	if !ok || !c.present() {
		return
	}
	given := make([]string, 0, len(elements))
	for _, element := range elements {
		s, ok := element.str()
		if !ok {
			return
		}
		given = append(given, s)
	}
	supported := enum.Names(text.Locales)
	if !slices.Equal(given, supported) {
		c.problem("must be [%s], the languages that the service supports", strings.Join(supported, ", "))
	}
}

// newCode reads the code of an entry, which no entry before it has.
func (o object) newCode(once unique[string]) string {
	code, ok := o.require("code").code()
	if ok {
		once.define(o.get("code"), code, quote(code))
	}
	return code
}

func (p *parser) categories(c cursor) {
	once := unique[string]{}
	for _, o := range p.entries(c, "code", "name", "icon_url") {
		code := o.newCode(once)
		p.doc.Categories = append(p.doc.Categories, Category{
			Code: code, Name: o.require("name").text(true), IconURL: o.get("icon_url").url(),
		})
	}
}

func (p *parser) brands(c cursor) {
	once := unique[string]{}
	for _, o := range p.entries(c, "code", "name", "categories") {
		code := o.newCode(once)
		brand := BrandEntry{Code: code, Name: o.require("name").text(true)}
		served := references(o.require("categories"))
		for _, c := range served {
			brand.Categories = append(brand.Categories, c.node.Value)
		}
		p.doc.Brands = append(p.doc.Brands, brand)
		p.servedAt = append(p.servedAt, served)
	}
}

// references reads a list of codes, each at most once.
func references(c cursor) []cursor {
	elements, _ := c.list()
	once := unique[string]{}
	var list []cursor
	for _, element := range elements {
		if code := element.reference(); code != "" && once.define(element, code, quote(code)) {
			list = append(list, element)
		}
	}
	return list
}

func (p *parser) models(c cursor) {
	once := unique[string]{}
	for _, o := range p.entries(c, "code", "brand", "category", "name", "image_url") {
		code := o.newCode(once)
		p.doc.Models = append(p.doc.Models, Model{
			Code: code, Brand: o.require("brand").reference(), Category: o.require("category").reference(),
			Name: o.require("name").text(true), ImageURL: o.get("image_url").url(),
		})
		p.modelAt = append(p.modelAt, o)
	}
}

func (p *parser) photoIndexes(c cursor) {
	once := unique[indexKey]{}
	known := []string{
		"code", "category", "brand", "model", "name", "required", "photo_limit", "icon_url", "example_urls", "excluded",
	}
	brands := make(map[string]string, len(p.doc.Models))
	for _, m := range p.doc.Models {
		brands[m.Code] = m.Brand
	}
	for _, o := range p.entries(c, known...) {
		code, ok := o.require("code").code()
		context := o.context()
		if context.Brand == "" && !o.get("brand").present() { // a model has one
			context.Brand = brands[context.Model]
		}
		before := len(c.r.problems)
		name := o.get("name").text(false)
		p.faultyName = append(p.faultyName, len(c.r.problems) > before)
		rule := IndexRule{
			Code: code, Context: context, Name: name, Required: o.get("required").boolean(),
			IconURL: o.get("icon_url").url(), ExampleURLs: o.get("example_urls").urls(),
			Excluded: o.get("excluded").boolean(),
		}
		if limit, ok := o.get("photo_limit").integer(1, maxCount); ok {
			rule.PhotoLimit = new(int(limit))
		}
		if ok {
			once.define(o.get("code"), indexKey{code, rule.Context}, quote(code)+" in "+rule.Context.String())
		}
		p.doc.PhotoIndexes = append(p.doc.PhotoIndexes, rule)
		p.indexAt = append(p.indexAt, o)
	}
}

// context reads the codes that a rule matches.
func (o object) context() Context {
	return Context{
		Category: o.get("category").reference(), Brand: o.get("brand").reference(), Model: o.get("model").reference(),
	}
}

func (p *parser) answerTimes(c cursor) {
	once := unique[int]{}
	objects := p.entries(c, "code", "name", "price", "default", "open", "max_open_orders")
	if len(objects) > maxAnswerTimes {
		c.problem("must not have more than %d answer times, not %d", maxAnswerTimes, len(objects))
		p.unreadable[c.path] = true
		return
	}
	for _, o := range objects {
		code, ok := o.require("code").integer(1, maxDue)
		at := AnswerTime{Code: int(code), Name: o.require("name").text(true), Open: p.window(o.get("open"))}
		if ok {
			once.define(o.get("code"), at.Code, "answer time "+o.get("code").node.Value)
		}
		at.Price, _ = o.require("price").integer(0, maxPrice)
		if suggested := o.get("default").boolean(); suggested != nil {
			at.Default = *suggested
		}
		if most, ok := o.get("max_open_orders").integer(1, maxCount); ok {
			at.MaxOpenOrders = int(most)
		}
		p.doc.AnswerTimes = append(p.doc.AnswerTimes, at)
		p.timeAt = append(p.timeAt, o)
	}
}

func (p *parser) window(c cursor) *Window {
	o, ok := c.object("timezone", "days", "from", "to")
	if !ok {
		return nil
	}
	w := &Window{Days: days(o.require("days"))}
	w.Timezone, w.location = o.require("timezone").location(p.zones)
	from, fromOK := o.require("from").clock(false)
	to, toOK := o.require("to").clock(true)
	if fromOK && toOK && from == to {
		o.get("to").problem("must not be the same as from; a whole day is from \"00:00\" to \"24:00\"")
	}
	w.From, w.To = from, to
	return w
}

func days(c cursor) []time.Weekday {
	elements, ok := c.list()
	if ok && c.present() && len(c.node.Content) == 0 {
		c.problem("must name at least one day of mon, tue, wed, thu, fri, sat, sun")
	}
	once := unique[time.Weekday]{}
	var list []time.Weekday
	for _, element := range elements {
		s, ok := element.str()
		if !ok {
			continue
		}
		i := slices.Index(dayNames[:], s)
		if i < 0 {
			element.problem("%s is not a day; days are mon, tue, wed, thu, fri, sat, sun", quote(s))
			continue
		}
		once.define(element, time.Weekday(i), s)
		list = append(list, time.Weekday(i))
	}
	return list
}

func (p *parser) answerTimeRules(c cursor) {
	once := unique[timeKey]{}
	for _, o := range p.entries(c, "code", "category", "brand", "price", "offered", "default") {
		code, ok := o.require("code").integer(1, maxDue)
		rule := AnswerTimeRule{
			Code: int(code), Context: o.context(), Offered: o.get("offered").boolean(), Default: o.get("default").boolean(),
		}
		if price, ok := o.get("price").integer(0, maxPrice); ok {
			rule.Price = &price
		}
		if ok {
			what := "answer time " + o.get("code").node.Value + " in " + rule.Context.String()
			once.define(o.get("code"), timeKey{rule.Code, rule.Context}, what)
		}
		p.doc.AnswerTimeRules = append(p.doc.AnswerTimeRules, rule)
		p.ruleAt = append(p.ruleAt, o)
	}
}

func (p *parser) accountPrices(c cursor) {
	type key struct {
		account string
		code    int
	}
	once := unique[key]{}
	for _, o := range p.entries(c, "account", "code", "price") {
		code, ok := o.require("code").integer(1, maxDue)
		price := AccountPrice{Account: o.require("account").display(), Code: int(code)}
		price.Price, _ = o.require("price").integer(0, maxPrice)
		if ok && price.Account != "" {
			what := "a price of answer time " + o.get("code").node.Value + " for " + quote(price.Account)
			once.define(o.get("account"), key{price.Account, price.Code}, what)
		}
		p.doc.AccountPrices = append(p.doc.AccountPrices, price)
		p.priceAt = append(p.priceAt, o)
	}
}

func (p *parser) reasons(c cursor) {
	once := unique[string]{}
	for _, o := range p.entries(c, "code", "outcome", "text", "categories") {
		code := o.newCode(once)
		outcome, ok := o.require("outcome").str()
		if ok && !slices.Contains(outcomes, outcome) {
			o.get("outcome").problem("must be one of %s, not %s", strings.Join(outcomes, ", "), quote(outcome))
		}
		reason := Reason{Code: code, Outcome: outcome, Text: o.require("text").text(true)}
		if at := o.get("categories"); at.present() {
			offered := references(at)
			for _, c := range offered {
				reason.Categories = append(reason.Categories, c.node.Value)
			}
			p.servedAt = append(p.servedAt, offered)
		}
		p.doc.Reasons = append(p.doc.Reasons, reason)
	}
}

func (p *parser) phrases(c cursor) []Phrase {
	once := unique[string]{}
	var phrases []Phrase
	for _, o := range p.entries(c, "code", "text") {
		code := o.newCode(once)
		phrases = append(phrases, Phrase{Code: code, Text: o.require("text").text(true)})
	}
	return phrases
}

// unique records the keys that a list has defined.
type unique[K comparable] map[K]cursor

// define records a key. For a duplicate it reports a problem and returns false.
func (u unique[K]) define(c cursor, key K, what string) bool {
	if first, ok := u[key]; ok {
		c.problem("%s is there twice; the first is %s at line %d", what, first.path, first.line)
		return false
	}
	u[key] = c
	return true
}
