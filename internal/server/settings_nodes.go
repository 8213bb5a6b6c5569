package server

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/ratelimit"
)

// NodeSettings are the settings of an installation with more than one node.
type NodeSettings struct {
	Redis string
	Roles Roles
}

func (s *Settings) bindNodes(fs *flag.FlagSet) {
	s.Roles = slices.Clone(allRoles)
	s.bindSecret(fs, &s.Redis, "redis", "redis://… or rediss://…: limits of requests, of failed authentications and of "+
		"attempts to sign in are counted there for all nodes; empty: each node counts requests by itself")
	fs.Var(&s.Roles, "roles", "what this node does, `roles` separated by commas")
}

func (s *NodeSettings) check(refuse func(format string, args ...any)) {
	if s.Redis != "" {
		if err := ratelimit.CheckRedisURL(s.Redis); err != nil {
			refuse("--redis %w", err)
		}
	}
}

// The roles of a node.
const (
	RoleAPI          = "api"          // the integration API, its documentation, certificates and photos
	RoleDesk         = "desk"         // portal, desk, administration and the desk API
	RoleDeliver      = "deliver"      // sends webhooks and mail
	RoleImages       = "images"       // makes derived images ahead of time
	RoleHousekeeping = "housekeeping" // expires and deletes
)

var allRoles = Roles{RoleAPI, RoleDesk, RoleDeliver, RoleImages, RoleHousekeeping}

// Roles is a list of roles, written with commas.
type Roles []string

// Has reports whether a role is among them.
func (r Roles) Has(role string) bool { return slices.Contains(r, role) }

// Set reads a list; it is kept in one order.
func (r *Roles) Set(s string) error {
	given := strings.Split(s, ",")
	for i, role := range given {
		given[i] = strings.TrimSpace(role)
		if !allRoles.Has(given[i]) {
			return fmt.Errorf("%q is no role; roles are %s", given[i], allRoles.String())
		}
	}
	*r = slices.DeleteFunc(slices.Clone(allRoles), func(role string) bool { return !slices.Contains(given, role) })
	return nil
}

// missing names the roles that are not among them.
func (r Roles) missing() string {
	return slices.DeleteFunc(slices.Clone(allRoles), r.Has).String()
}

// String writes the list.
func (r Roles) String() string { return strings.Join(r, ",") }
