package catalog

// check applies the rules between entries: references, names and defaults after merging.
func (p *parser) check() {
	known := p.definitions()
	for _, served := range p.servedAt {
		for _, c := range served {
			p.checkCategory(known, c, c.node.Value)
		}
	}
	for i, o := range p.modelAt {
		m := p.doc.Models[i]
		p.checkServed(known, o, Context{Category: m.Category, Brand: m.Brand})
	}
	for i, o := range p.indexAt {
		p.checkContext(known, o, p.doc.PhotoIndexes[i].Context)
	}
	for i, o := range p.ruleAt {
		p.checkTime(known, o, p.doc.AnswerTimeRules[i].Code)
		p.checkContext(known, o, p.doc.AnswerTimeRules[i].Context)
	}
	for i, o := range p.priceAt {
		p.checkTime(known, o, p.doc.AccountPrices[i].Code)
	}
	p.checkIndexNames(known)
	p.checkDefaults()
}

// checkAccounts reports every account price whose account does not exist.
func (p *parser) checkAccounts(accounts map[string]string) {
	for i, o := range p.priceAt {
		name := p.doc.AccountPrices[i].Account
		if _, ok := accounts[name]; !ok && name != "" {
			o.get("account").problem("there is no account named %s", quote(name))
		}
	}
}

// definitions are the entries by code. Of duplicates, the first counts.
type definitions struct {
	categories map[string]bool
	brands     map[string]*BrandEntry
	serves     map[[2]string]bool // brand and category
	models     map[string]*Model
	times      map[int]bool
}

func (p *parser) definitions() definitions {
	known := definitions{
		categories: make(map[string]bool, len(p.doc.Categories)), brands: make(map[string]*BrandEntry, len(p.doc.Brands)),
		serves: make(map[[2]string]bool), models: make(map[string]*Model, len(p.doc.Models)),
		times: make(map[int]bool, len(p.doc.AnswerTimes)),
	}
	for _, c := range p.doc.Categories {
		known.categories[c.Code] = true
	}
	for i := range p.doc.Brands {
		b := &p.doc.Brands[i]
		if known.brands[b.Code] != nil {
			continue
		}
		known.brands[b.Code] = b
		for _, category := range b.Categories {
			known.serves[[2]string{b.Code, category}] = true
		}
	}
	for i := range p.doc.Models {
		if m := &p.doc.Models[i]; known.models[m.Code] == nil {
			known.models[m.Code] = m
		}
	}
	for _, t := range p.doc.AnswerTimes {
		known.times[t.Code] = true
	}
	return known
}

// checkContext checks that the codes of a rule's context exist and go together.
func (p *parser) checkContext(known definitions, o object, c Context) {
	p.checkServed(known, o, c)
	if c.Model == "" {
		return
	}
	model := known.models[c.Model]
	switch {
	case model == nil:
		if !p.unreadable["models"] {
			o.get("model").problem("model %s is not defined in models", quote(c.Model))
		}
	case c.Brand != "" && model.Brand != "" && model.Brand != c.Brand:
		o.get("model").problem("model %s is of brand %s, not of %s", quote(c.Model), quote(model.Brand), quote(c.Brand))
	case c.Category != "" && model.Category != "" && model.Category != c.Category:
		o.get("model").problem("model %s is of category %s, not of %s",
			quote(c.Model), quote(model.Category), quote(c.Category))
	}
}

// checkServed checks that category and brand exist, if stated, and that the brand serves the category.
func (p *parser) checkServed(known definitions, o object, c Context) {
	category, brand := true, true
	if c.Category != "" {
		category = p.checkCategory(known, o.get("category"), c.Category)
	}
	if c.Brand != "" && known.brands[c.Brand] == nil {
		brand = false
		if !p.unreadable["brands"] {
			o.get("brand").problem("brand %s is not defined in brands", quote(c.Brand))
		}
	}
	if c.Category != "" && c.Brand != "" && category && brand && !known.serves[[2]string{c.Brand, c.Category}] {
		o.get("category").problem("brand %s does not serve category %s", quote(c.Brand), quote(c.Category))
	}
}

func (p *parser) checkCategory(known definitions, c cursor, code string) bool {
	if known.categories[code] {
		return true
	}
	if !p.unreadable["categories"] {
		c.problem("category %s is not defined in categories", quote(code))
	}
	return false
}

func (p *parser) checkTime(known definitions, o object, code int) {
	if code != 0 && !known.times[code] && !p.unreadable["answer_times"] {
		o.get("code").problem("answer time %d is not defined in answer_times", code)
	}
}
