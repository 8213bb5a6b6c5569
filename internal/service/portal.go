package service

import (
	"github.com/assayhq/assay/internal/domain/access"
)

// Allows reports whether the member may do what the role may.
func (m *Member) Allows(role access.Role) bool { return m.Role.Includes(role) }

// Require returns the refusal of a member who lacks the role.
func (m *Member) Require(role access.Role) error { return access.RequireRole(m.Role, role) }
