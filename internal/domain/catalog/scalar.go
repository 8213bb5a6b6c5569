package catalog

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/assayhq/assay/internal/domain/text"
)

const (
	maxPrice = 1<<53 - 1           // exact in every JSON reader
	maxCount = math.MaxInt32       // photo limits and capacities
	maxDue   = 100 * 365 * 24 * 60 // minutes of an answer time: a due date in a hundred years at most
	maxURL   = 2048
)

var (
	codePattern    = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	integerPattern = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	clockPattern   = regexp.MustCompile(`^[0-9]{2}:[0-9]{2}$`)
)

// str reads a string.
func (c cursor) str() (string, bool) {
	if !c.present() {
		return "", false
	}
	if c.node.Kind != yaml.ScalarNode {
		c.problem("must be text, not %s", c.kind())
		return "", false
	}
	if c.node.ShortTag() != "!!str" {
		c.problem("must be text, not %s; put it in quotes", c.kind())
		return "", false
	}
	return c.node.Value, true
}

// code reads the code that defines an entity. A malformed code is returned too, so that references to it are not
// reported as well.
func (c cursor) code() (string, bool) {
	s, ok := c.str()
	if ok && !codePattern.MatchString(s) {
		c.problem("%s is not a code; codes are 1 to 64 of a-z, 0-9 and -", quote(s))
	}
	return s, ok
}

// reference reads the code of an entity defined elsewhere, or returns "" if it is absent or malformed.
func (c cursor) reference() string {
	s, ok := c.str()
	if ok && s == "" {
		c.problem("must not be empty")
	}
	return s
}

// display reads a text that people see.
func (c cursor) display() string {
	s, ok := c.str()
	if !ok {
		return ""
	}
	if strings.TrimSpace(s) == "" {
		c.problem("must not be empty")
		return ""
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			c.problem("must not contain control characters such as %U", r)
			return ""
		}
	}
	return s
}

// text reads a translated text. If complete, English is required.
func (c cursor) text(complete bool) text.Text {
	var t text.Text
	if c.present() && c.node.Kind != yaml.MappingNode {
		c.problem("must be a mapping of languages such as {en: …, ja: …}, not %s", c.kind())
		return t
	}
	o, ok := c.object("en", "ja")
	if !ok {
		return t
	}
	t.EN, t.JA = o.get("en").display(), o.get("ja").display()
	switch {
	case complete:
		if en := o.get("en"); !en.present() {
			en.problem("is required: every text needs English")
		}
	case !o.get("en").present() && !o.get("ja").present():
		c.problem("must state at least one language, en or ja")
	}
	return t
}

// integer reads a whole number within bounds.
func (c cursor) integer(least, most int64) (int64, bool) {
	if !c.present() {
		return 0, false
	}
	if c.node.Kind == yaml.ScalarNode && c.node.ShortTag() == "!!str" && integerPattern.MatchString(c.node.Value) {
		c.problem("must be a whole number, not text; remove the quotes")
		return 0, false
	}
	// YAML tags an integer that does not fit its type as a float, so look at the digits.
	number := c.node.Kind == yaml.ScalarNode && (c.node.ShortTag() == "!!int" || c.node.ShortTag() == "!!float")
	if !number || !integerPattern.MatchString(c.node.Value) {
		c.problem("must be a whole number, not %s", c.kind())
		return 0, false
	}
	n, err := strconv.ParseInt(c.node.Value, 10, 64)
	switch {
	case strings.HasPrefix(c.node.Value, "-") || (err == nil && n < least):
		c.problem("must be at least %d, not %s", least, quoteNumber(c.node.Value))
		return 0, false
	case err != nil || n > most:
		c.problem("must be at most %d, not %s", most, quoteNumber(c.node.Value))
		return 0, false
	}
	return n, true
}

func quoteNumber(s string) string {
	if len(s) > 24 {
		return "a number of " + strconv.Itoa(len(s)) + " digits"
	}
	return s
}

// boolean reads true or false; absent is nil.
func (c cursor) boolean() *bool {
	if !c.present() {
		return nil
	}
	if c.node.Kind == yaml.ScalarNode && c.node.ShortTag() == "!!bool" {
		switch strings.ToLower(c.node.Value) {
		case "true":
			return new(true)
		case "false":
			return new(false)
		}
	}
	c.problem("must be true or false, not %s", c.kind())
	return nil
}

// url reads an absolute web address; absent is nil.
func (c cursor) url() *string {
	s, ok := c.str()
	if !ok {
		return nil
	}
	u, err := url.Parse(s)
	unprintable := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		strings.ContainsFunc(s, unprintable):
		c.problem("%s is not an absolute http or https URL", quote(s))
		return nil
	case utf8.RuneCountInString(s) > maxURL:
		c.problem("must not be longer than %d characters", maxURL)
		return nil
	}
	return &s
}

// urls reads a list of web addresses; absent is nil, an empty list is not.
func (c cursor) urls() []string {
	elements, ok := c.list()
	if !ok || !c.present() {
		return nil
	}
	urls := make([]string, 0, len(elements))
	for _, element := range elements {
		if u := element.url(); u != nil {
			urls = append(urls, *u)
		}
	}
	return urls
}

// clock reads a time of day. 24:00 is valid only as the end of a window.
func (c cursor) clock(end bool) (Clock, bool) {
	s, ok := c.str()
	if !ok {
		return 0, false
	}
	rule := `must be a time of day from "00:00" to "23:59", not %s`
	if end {
		rule = `must be a time of day from "00:00" to "24:00", not %s`
	}
	if !clockPattern.MatchString(s) {
		c.problem(rule, quote(s))
		return 0, false
	}
	hour, _ := strconv.Atoi(s[:2])
	minute, _ := strconv.Atoi(s[3:])
	at := Clock(hour*60 + minute)
	if minute > 59 || at > endOfDay || (at == endOfDay && !end) {
		c.problem(rule, quote(s))
		return 0, false
	}
	return at, true
}

// location reads an IANA time zone. "Local" is refused: it differs between nodes.
func (c cursor) location(loaded map[string]*time.Location) (string, *time.Location) {
	name, ok := c.str()
	if !ok {
		return "", nil
	}
	if zone, ok := loaded[name]; ok {
		return name, zone
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		c.problem("%s is not an IANA time zone such as Asia/Tokyo", quote(name))
		return name, nil
	}
	loaded[name] = zone
	return name, zone
}
