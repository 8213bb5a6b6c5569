package service

import (
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// Require returns the refusal of a member who lacks the role.
func (m *Member) Require(role access.Role) error { return access.RequireRole(m.Role, role) }

// userActor returns who moved an order.
func userActor(m *Member) order.Actor {
	return order.Actor{Type: order.ByUser, ID: m.ID, Name: m.Email}
}

func staffActor(who *access.Staff) order.Actor {
	return order.Actor{Type: order.ByStaff, ID: who.ID, Name: who.Name}
}
