package service

import (
	"errors"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

// Administration is what administrators do beside judging orders. Every use case is given who does it and refuses
// everybody else with access.MissingRole; what it changes is written to the log of administration in the same transaction.
type Administration struct {
	service *Service
}

// NewAdministration returns the use cases of administrators.
func NewAdministration(s *Service) *Administration { return &Administration{service: s} }

func (a *Administration) store() *store.Store { return a.service.Store }

// allow refuses staff who are not administrators.
func (a *Administration) allow(who *access.Staff) error {
	if who == nil || !who.Allows(access.Admin) {
		return access.MissingRole(access.Admin)
	}
	return nil
}

// problems collects what is wrong with fields.
type problems []fault.Problem

func (p *problems) add(field, code, message string) {
	*p = append(*p, fault.Problem{Field: field, Code: code, Message: message})
}

// name checks a name that a person gives to something.
func (p *problems) name(field, value string) {
	if err := access.CheckName("it", value); err == nil {
		return
	}
	if strings.TrimSpace(value) == "" {
		p.add(field, "required", "is required")
		return
	}
	p.add(field, "name", "must have at most 100 characters and no control characters")
}

// email checks an address and returns the form under which it is unique.
func (p *problems) email(field, value string) string {
	address, err := access.NormalizeEmail(value)
	switch {
	case value == "":
		p.add(field, "required", "is required")
	case err != nil:
		p.add(field, "email", "is not an email address")
	}
	return address
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return fault.Validation(p...)
}

// missing is the refusal of an id that leads nowhere.
func missing(entity string) *fault.Error {
	return fault.New(fault.NotFound, fault.CodeNotFound, "There is no such "+entity+".").With("entity", entity)
}

// orMissing turns a row that does not exist into its refusal.
func orMissing(err error, entity string) error {
	if errors.Is(err, store.ErrNotFound) {
		return missing(entity)
	}
	return err
}
