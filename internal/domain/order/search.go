package order

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// Search chooses orders of one account and environment, for programs. An empty field chooses all; all must match.
type Search struct {
	Tenant       access.Tenant
	Status       Status
	Outcome      Outcome
	ExternalID   string
	CreatedSince *time.Time
	UpdatedSince *time.Time
	ByUpdate     bool // those that changed last come last; otherwise the newest first
}

// States returns what is chosen as Filter.States does.
func (s *Search) States() []string {
	f := Filter{Outcome: s.Outcome}
	if s.Status != "" {
		f.Statuses = []Status{s.Status}
	}
	return f.States()
}
