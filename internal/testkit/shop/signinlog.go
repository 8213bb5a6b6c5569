package shop

import (
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/testkit/must"
)

// SignInRecord is an entry of the log that is told about sign-ins: the account's, or that of administration.
type SignInRecord struct {
	Code, UserID, Name, IP, Agent, Reason string
}

// SignInCodes are those of the events about signing in, for account users and staff.
var SignInCodes = map[access.Audience]map[string]string{
	access.Portal: {
		"in": string(audit.LoginSucceeded), "failed": string(audit.LoginFailed), "password": string(audit.PasswordChanged),
	},
	access.Desk: {
		"in": string(audit.StaffSignedIn), "failed": string(audit.StaffSignInFailed),
		"password": string(audit.StaffPasswordChanged),
	},
}

// SignInRecords returns the entries of the log of an audience, the oldest first.
func (s *Shop) SignInRecords(t testing.TB, audience access.Audience) []SignInRecord {
	t.Helper()
	var all []SignInRecord
	if audience == access.Desk {
		actions, err := s.Store.StaffActions(t.Context(), audit.ActionFilter{}, audit.ActionCursor{}, 100)
		must.NoError(t, err)
		for _, a := range actions {
			reason, _ := a.Details["reason"].(string)
			all = append(all, SignInRecord{string(a.Code), a.StaffID, a.StaffName, a.IP, a.UserAgent, reason})
		}
	} else {
		events, _, err := s.Store.AuditPage(t.Context(), s.Account.ID, audit.Filter{}, 1, 100)
		must.NoError(t, err)
		for _, e := range events {
			if e.Actor.Type == audit.ByUser && e.Actor.Source != audit.FromPortal {
				t.Errorf("event %+v is not of the portal", e)
			}
			reason, _ := e.Metadata["reason"].(string)
			all = append(all, SignInRecord{string(e.Code), e.UserID, e.Actor.Name, e.Actor.IP, e.Actor.UserAgent, reason})
		}
	}
	slices.Reverse(all)
	return all
}
