package apitest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Case is a documented response of an operation: a success, or a failure with a code.
type Case struct {
	Operation string // operationId
	Status    int
	Code      string // empty: a success
}

func (c Case) String() string {
	if c.Code == "" {
		return fmt.Sprintf("%s %d", c.Operation, c.Status)
	}
	return fmt.Sprintf("%s %d %s", c.Operation, c.Status, c.Code)
}

// Coverage lists which documented responses have been seen, and how often.
type Coverage struct {
	Seen    map[Case]int
	Missing []Case // in the order of operation, status and code
}

// Coverage returns the responses seen so far by this validator and those that share its record.
func (v *Validator) Coverage() Coverage {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := Coverage{Seen: make(map[Case]int, len(v.seen))}
	for c, n := range v.seen {
		out.Seen[c] = n
	}
	for _, c := range v.documented() {
		if out.Seen[c] == 0 {
			out.Missing = append(out.Missing, c)
		}
	}
	slices.SortFunc(out.Missing, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// documented returns every documented response.
func (c *contract) documented() []Case {
	var out []Case
	for _, op := range c.document.Operations {
		for _, r := range op.Responses {
			status, err := strconv.Atoi(r.Status)
			if err != nil {
				continue // a range, which only webhooks use
			}
			codes := r.Codes()
			if len(codes) == 0 {
				codes = []string{""}
			}
			for _, code := range codes {
				out = append(out, Case{Operation: op.ID, Status: status, Code: code})
			}
		}
	}
	return out
}

func (c *contract) record(one Case) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[one]++
}

// firstUse reports whether the request id has not been seen before.
func (c *contract) firstUse(requestID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.requestIDs[requestID]
	c.requestIDs[requestID] = struct{}{}
	return !known
}
