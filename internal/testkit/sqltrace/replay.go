package sqltrace

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Replay runs a recorded transaction again and again. What differed between two recordings of it gets a new value in
// each turn: whole numbers grow, texts keep their length and form.
type Replay struct {
	statements []replayed
	tokens     int // distinct parts of texts that change
}

type replayed struct {
	text string
	args []argument
}

// argument is a value, or what it is made from.
type argument struct {
	fixed  any
	moves  bool // a whole number that changes
	pieces []piece
}

// piece is a fixed text, or the n-th text that changes.
type piece struct {
	text   string
	token  int // -1: fixed
	digits bool
}

const (
	numberStep = 1_000   // what a whole number grows by in each turn: more than a group has orders
	largeStep  = 1 << 32 // what a large one does, such as a time or a rowid: more than those of a group differ
	large      = 1 << 40
	maxTokens  = 4_096
	freshWidth = 12 // characters at the end of a text that change, which leave an id an id
)

// NewReplay compares two recordings of the same statements. Texts that are in several of all recordings were there
// before, such as the name of a photo, and stay.
func NewReplay(a, b []Statement, further [][]Statement) (*Replay, error) {
	same := func(x, y Statement) bool { return x.Text == y.Text && len(x.Args) == len(y.Args) }
	if !slices.EqualFunc(a, b, same) {
		return nil, errors.New("sqltrace: the recordings are not of the same statements")
	}
	r := new(Replay)
	fresh := freshWords(further)
	tokens := map[string]int{}
	for i := range a {
		s := replayed{text: a[i].Text}
		for k, value := range a[i].Args {
			s.args = append(s.args, newArgument(value, b[i].Args[k], tokens, fresh))
		}
		r.statements = append(r.statements, s)
	}
	if r.tokens = len(tokens); r.tokens > maxTokens {
		return nil, fmt.Errorf("sqltrace: %d texts change, %d can", r.tokens, maxTokens)
	}
	return r, nil
}

var word = regexp.MustCompile(`[A-Za-z0-9_-]+|[^A-Za-z0-9_-]+`)

// freshWords returns the words of texts that are in one transaction only.
func freshWords(recorded [][]Statement) map[string]bool {
	fresh := map[string]bool{}
	for _, transaction := range recorded {
		own := map[string]bool{}
		for _, statement := range transaction {
			for _, arg := range statement.Args {
				text, _ := arg.(string)
				for _, w := range word.FindAllString(text, -1) {
					own[w] = true
				}
			}
		}
		for w := range own {
			_, before := fresh[w]
			fresh[w] = !before
		}
	}
	return fresh
}

func newArgument(a, b any, tokens map[string]int, fresh map[string]bool) argument {
	if a == b {
		return argument{fixed: a}
	}
	x, isText := a.(string)
	y, _ := b.(string)
	if _, err := strconv.ParseInt(x, 10, 64); !isText || err == nil && y != "" {
		return argument{fixed: a, moves: true}
	}
	pieces, others := word.FindAllString(x, -1), word.FindAllString(y, -1)
	whole := len(pieces) != len(others) // then every fresh word of it changes
	arg := argument{fixed: a}
	for i, p := range pieces {
		if !fresh[p] || !whole && p == others[i] {
			arg.pieces = append(arg.pieces, piece{text: p, token: -1})
			continue
		}
		if _, ok := tokens[p]; !ok {
			tokens[p] = len(tokens)
		}
		arg.pieces = append(arg.pieces, piece{text: p, token: tokens[p], digits: strings.Trim(p, "0123456789") == ""})
	}
	return arg
}

// Len returns the number of statements.
func (r *Replay) Len() int { return len(r.statements) }

// Text returns the text of a statement.
func (r *Replay) Text(i int) string { return r.statements[i].text }

// Args returns the values of a statement in a turn.
func (r *Replay) Args(i int, turn int64) []any {
	args := make([]any, len(r.statements[i].args))
	for k := range args {
		args[k] = r.statements[i].args[k].value(turn)
	}
	return args
}

func step(n int64) int64 {
	if n >= large {
		return largeStep
	}
	return numberStep
}

func (a *argument) value(turn int64) any {
	if n, ok := a.fixed.(int64); ok && a.moves {
		return n + turn*step(n)
	}
	if a.pieces == nil {
		return a.fixed
	}
	var b strings.Builder
	for _, p := range a.pieces {
		if p.token < 0 {
			b.WriteString(p.text)
			continue
		}
		width := min(freshWidth, len(p.text))
		fresh := fmt.Sprintf("%0*x", width, turn*maxTokens+int64(p.token))
		if p.digits {
			fresh = fmt.Sprintf("%0*d", width, turn*maxTokens+int64(p.token))
		}
		b.WriteString(p.text[:len(p.text)-width])
		b.WriteString(fresh[len(fresh)-width:])
	}
	return b.String()
}

// Script returns transactions of the same statements as one script of pgbench, which runs the a-th of them and counts
// its turns in the variable n.
func Script(all []*Replay) (string, error) {
	var b strings.Builder
	for i := range all[0].statements {
		text := strings.Join(strings.Fields(all[0].statements[i].text), " ")
		for _, r := range all {
			if len(r.statements) != len(all[0].statements) || r.statements[i].text != all[0].statements[i].text {
				return "", errors.New("sqltrace: the transactions do not have the same statements")
			}
		}
		for text != "" {
			if n, length := parameter(text); length > 0 {
				b.WriteString(choice(all, i, n-1))
				text = text[length:]
				continue
			}
			b.WriteByte(text[0])
			text = text[1:]
		}
		b.WriteString(";\n")
	}
	return b.String(), nil
}

// choice is the value of the a-th transaction in SQL.
func choice(all []*Replay, statement, arg int) string {
	expressions := make([]string, len(all))
	for i, r := range all {
		expressions[i] = r.statements[statement].args[arg].expression()
	}
	if len(slices.Compact(slices.Clone(expressions))) == 1 {
		return expressions[0]
	}
	numbers := make([]string, len(all)) // a choice of quoted numbers would be a text
	for i, r := range all {
		a := &r.statements[statement].args[arg]
		n, err := strconv.ParseInt(fmt.Sprint(a.fixed), 10, 64)
		if err != nil || a.moves || a.pieces != nil {
			break
		}
		numbers[i] = strconv.FormatInt(n, 10)
	}
	if !slices.Contains(numbers, "") {
		expressions = numbers
	}
	var b strings.Builder
	b.WriteString("CASE CAST(:a AS BIGINT)")
	for i, e := range expressions {
		fmt.Fprintf(&b, " WHEN %d THEN %s", i+1, e)
	}
	return b.String() + " END"
}

// expression is the value in SQL.
func (a *argument) expression() string {
	text, isText := a.fixed.(string)
	switch {
	case a.fixed == nil:
		return "NULL"
	case a.moves:
		return fmt.Sprintf("(%v + CAST(:n AS BIGINT) * %d)", a.fixed, numberStep)
	case !isText:
		return fmt.Sprint(a.fixed)
	case a.pieces == nil:
		return quote(text)
	}
	parts := make([]string, len(a.pieces))
	for i, p := range a.pieces {
		if p.token < 0 {
			parts[i] = quote(p.text)
			continue
		}
		width := min(freshWidth, len(p.text))
		fresh := fmt.Sprintf("to_hex(CAST(:n AS BIGINT) * %d + %d)", maxTokens, p.token)
		if p.digits {
			fresh = fmt.Sprintf("CAST(CAST(:n AS BIGINT) * %d + %d AS TEXT)", maxTokens, p.token)
		}
		parts[i] = fmt.Sprintf("%s || right(lpad(%s, 16, '0'), %d)", quote(p.text[:len(p.text)-width]), fresh, width)
	}
	return "(" + strings.Join(parts, " || ") + ")" + arrayType(text)
}

// arrayType returns the type of a text that is an array.
func arrayType(text string) string {
	inner, ok := strings.CutPrefix(text, "{")
	if !ok || !strings.HasSuffix(inner, "}") || strings.HasPrefix(inner, `"`) && strings.Contains(inner, `":`) {
		return ""
	}
	if strings.Trim(inner, "0123456789,}") == "" {
		return "::bigint[]"
	}
	return "::text[]"
}
