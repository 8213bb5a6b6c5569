package service

import (
	"errors"

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
type problems struct{ fault.Problems }

func (p *problems) add(field, code, message string) { p.Add(field, code, message) }
func (p *problems) name(field, value string)        { access.CheckNameField(&p.Problems, field, value) }
func (p *problems) email(field, value string) string {
	return access.CheckEmailField(&p.Problems, field, value)
}
func (p *problems) err() error { return p.Err() }

// nameProblem checks a name that a person gives to something.
func nameProblem(field, name string) *fault.Problem {
	var p fault.Problems
	if access.CheckNameField(&p, field, name); p == nil {
		return nil
	}
	return &p[0]
}

// missing is the refusal of an id that leads nowhere.
func missing(entity string) *fault.Error {
	return fault.Missing(entity)
}

// orMissing turns a row that does not exist into its refusal.
func orMissing(err error, entity string) error {
	if errors.Is(err, store.ErrNotFound) {
		return missing(entity)
	}
	return err
}
