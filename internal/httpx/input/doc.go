// Package input reads what clients of the APIs send, JSON bodies and query parameters, strictly: every value is checked
// against its rules, and all problems are returned at once.
//
//	o, err := input.ReadObject(r)
//	…
//	name := o.String("name", input.Required, input.NotEmpty, input.MaxChars(100))
//	events := o.Strings("events", input.MinItems(1), input.Unique)
//	return o.Done() // nil, or a validation fault with every problem and unknown property
package input
