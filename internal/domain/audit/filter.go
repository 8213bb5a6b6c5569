package audit

import "time"

// Filter chooses events of an account's log; zero values choose all.
type Filter struct {
	Log        Log
	From, To   *time.Time // From inclusive, To exclusive
	Code       Code
	ActorType  ActorType
	ActorID    string
	Source     Source
	TargetType TargetType
	TargetID   string
}

// ActionFilter chooses entries of the log of administration; zero values choose all.
type ActionFilter struct {
	From, To  *time.Time // From inclusive, To exclusive
	Code      ActionCode
	StaffID   string
	Operator  bool // what was done at the command line; StaffID is empty then
	AccountID string
	TargetID  string
}

// ActionCursor is a position in the log of administration: a page begins with the entry after it. The zero value is the
// beginning, before the newest entry.
type ActionCursor struct {
	At time.Time
	ID string
}

// Cursor returns the position of the entry.
func (a *Action) Cursor() ActionCursor { return ActionCursor{a.At, a.ID} }
