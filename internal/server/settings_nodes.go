package server

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/tracing"
)

// NodeSettings are the settings of an installation with more than one node.
type NodeSettings struct {
	Redis string
	Roles Roles

	DatabaseRead    string
	DatabaseReadLag time.Duration
	OTLPEndpoint    string

	// For tests; 0 is what is right for everybody else.
	looks    time.Duration // how often a node looks for what other nodes announce
	patience time.Duration // how long a request waits for Redis
}

func (s *Settings) bindNodes(fs *flag.FlagSet) {
	s.Roles = slices.Clone(allRoles)
	s.bindSecret(fs, &s.Redis, "redis", "redis://… or rediss://…: limits of requests, of failed authentications and of "+
		"attempts to sign in are counted there for all nodes; empty: each node counts requests by itself")
	s.bindSecret(fs, &s.DatabaseRead, "database-read", "postgres://… of a streaming replica of --database, for lists and "+
		"pages; empty: everything is read from --database")
	fs.DurationVar(&s.DatabaseReadLag, "database-read-lag", 5*time.Second,
		"how far the replica may be behind; beyond it, lists and pages are read from --database")
	fs.StringVar(&s.OTLPEndpoint, "otlp-endpoint", "",
		"`URL` of an OpenTelemetry collector (OTLP over HTTP) for traces, such as http://127.0.0.1:4318; empty: off")
	fs.Var(&s.Roles, "roles", "what this node does, `roles` separated by commas")
}

func (s *Settings) checkNodes(refuse func(format string, args ...any)) {
	if s.DatabaseRead != "" && (!store.IsPostgres(s.DatabaseRead) || !store.IsPostgres(s.Database)) {
		refuse("--database-read %w", store.ErrReplicaURL)
	}
	if s.DatabaseReadLag <= 0 || s.DatabaseReadLag > maxReadLag {
		refuse("--database-read-lag must be more than 0 and at most %s", maxReadLag)
	}
	if s.Redis != "" {
		if err := ratelimit.CheckRedisURL(s.Redis); err != nil {
			refuse("--redis %w", err)
		}
	}
	if s.OTLPEndpoint != "" {
		if err := tracing.CheckEndpoint(s.OTLPEndpoint); err != nil {
			refuse("--otlp-endpoint %w", err)
		}
	}
}

// maxReadLag is how long a browser remembers that it has written something.
const maxReadLag = time.Minute

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
