package fault

// Problems collects the broken rules of a request, so that the caller is told all of them at once.
type Problems []Problem

// Add notes a broken rule of a field.
func (p *Problems) Add(field, code, message string) {
	*p = append(*p, Problem{Field: field, Code: code, Message: message})
}

// Err returns the refusal of the request, or nil when no rule is broken.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return Validation(p...)
}

// InvalidField is the refusal of a request for one broken rule of one field.
func InvalidField(field, code, message string) *Error {
	return Validation(Problem{Field: field, Code: code, Message: message})
}

// Missing is the refusal of an id of something that does not exist for the caller.
func Missing(entity string) *Error {
	return New(NotFound, CodeNotFound, "There is no such "+entity+".").With("entity", entity)
}
