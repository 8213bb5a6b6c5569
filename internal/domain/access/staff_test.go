package access_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/enum"
)

func TestStaffToken(t *testing.T) {
	token := access.NewStaffToken()
	if !strings.HasPrefix(token, "assay_staff_") || len(token) != len("assay_staff_")+38 {
		t.Errorf("token %q has not the form assay_staff_ and 38 characters", token)
	}
	if token == access.NewStaffToken() {
		t.Error("two tokens are equal")
	}
	if _, ok := access.ParseSecretKey(token); ok {
		t.Error("a staff token passes for an API key")
	}
	other := byte('a')
	if token[20] == other {
		other = 'b'
	}
	tests := map[string]struct {
		token string
		want  bool
	}{
		"Fresh":         {token, true},
		"Empty":         {"", false},
		"APIKey":        {access.NewSecretKey(access.Live), false},
		"Typo":          {token[:20] + string(other) + token[21:], false},
		"TooShort":      {token[:len(token)-1], false},
		"TooLong":       {token + "0", false},
		"NotBase62":     {token[:20] + "-" + token[21:], false},
		"OtherPrefix":   {"assay_STAFF_" + token[12:], false},
		"TrailingSpace": {token + " ", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := access.ValidStaffToken(tt.token); got != tt.want {
				t.Errorf("ValidStaffToken(%q) = %t, want %t", tt.token, got, tt.want)
			}
		})
	}
}

func TestStaff(t *testing.T) {
	reviewer, admin := access.Staff{Role: access.Reviewer}, access.Staff{Role: access.Admin}
	tests := map[string]struct {
		staff *access.Staff
		role  access.StaffRole
		want  bool
	}{
		"ReviewerAnyRole":  {&reviewer, "", true},
		"ReviewerReviewer": {&reviewer, access.Reviewer, true},
		"ReviewerAdmin":    {&reviewer, access.Admin, false},
		"AdminAnyRole":     {&admin, "", true},
		"AdminReviewer":    {&admin, access.Reviewer, true},
		"AdminAdmin":       {&admin, access.Admin, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.staff.Allows(tt.role); got != tt.want {
				t.Errorf("Allows(%q) = %t, want %t", tt.role, got, tt.want)
			}
		})
	}
	t.Run("Active", func(t *testing.T) {
		gone := access.Staff{DeactivatedAt: new(time.Time)}
		if !reviewer.Active() || gone.Active() {
			t.Error("a staff user is active until deactivated")
		}
	})
	t.Run("ParseRole", func(t *testing.T) {
		for _, role := range []access.StaffRole{"reviewer", "admin"} {
			if got, ok := enum.Parse(string(role), access.StaffRoles); !ok || got != role {
				t.Errorf("the role %q is read as %q, %t", role, got, ok)
			}
		}
		if _, ok := enum.Parse("owner", access.StaffRoles); ok {
			t.Error("a role of account users passes for a staff role")
		}
	})
}
