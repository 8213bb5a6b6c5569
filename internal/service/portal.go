package service

import (
	"github.com/assayhq/assay/internal/domain/access"
)

// Require returns the refusal of a member who lacks the role.
func (m *Member) Require(role access.Role) error { return access.RequireRole(m.Role, role) }
