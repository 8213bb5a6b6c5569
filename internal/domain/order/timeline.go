package order

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// What happens to an order.
const (
	EventCreated            = "created"
	EventClaimed            = "claimed"
	EventReleased           = "released"
	EventReassigned         = "reassigned"
	EventPhotosRequested    = "photos-requested"
	EventPhotosSubmitted    = "photos-submitted"
	EventCompleted          = "completed"
	EventFailed             = "failed"
	EventCertificateRevoked = "certificate-revoked"
	EventMarkedDelayed      = "marked-delayed"
	EventMarkedPunctual     = "marked-punctual"
)

// Events is everything that happens to an order: each has a text on the pages that show timelines.
var Events = []string{
	EventCreated, EventClaimed, EventReleased, EventReassigned, EventPhotosRequested, EventPhotosSubmitted,
	EventCompleted, EventFailed, EventCertificateRevoked, EventMarkedDelayed, EventMarkedPunctual,
}

// TimelineEntry is one thing that happened to an order. Of the actor, kind, id and name are stored.
type TimelineEntry struct {
	At      time.Time
	Event   string // one of those above
	Actor   access.Actor
	Details map[string]any
}

// Note is what a customer wrote with a photo submission.
type Note struct {
	Round     int
	Note      string
	CreatedAt time.Time
}

// History is what was sent for an order and what happened to it.
type History struct {
	Photos   []Photo // of every round; without a name where the customer could not provide one
	Notes    []Note
	Timeline []TimelineEntry // oldest first
}

// ForCustomer returns the timeline without what is internal to the desk: who works on the order, notes, and what
// reviewers do among themselves.
func (h *History) ForCustomer() []TimelineEntry {
	var shown []TimelineEntry
	for _, e := range h.Timeline {
		if e, ok := e.ForCustomer(); ok {
			shown = append(shown, e)
		}
	}
	return shown
}

// ForCustomer returns an entry as customers see it; false: they do not.
func (e TimelineEntry) ForCustomer() (TimelineEntry, bool) {
	theirs := e.Actor.Kind == access.ByUser || e.Actor.Kind == access.ByAPIKey // by which they move a Test order
	if e.Event == EventReleased && !theirs || e.Event == EventReassigned {
		return TimelineEntry{}, false
	}
	if e.Actor.Kind == access.ByStaff {
		e.Actor = access.Actor{Kind: access.ByStaff}
	}
	details := make(map[string]any)
	for _, name := range []string{"outcome", "round", "index_codes"} {
		if v, ok := e.Details[name]; ok {
			details[name] = v
		}
	}
	e.Details = details
	return e, true
}

// LostBy returns the entry by which somebody else took the order from a staff user, the latest; nil when nobody did, or
// they have had it again since.
func (h *History) LostBy(staffID string) *TimelineEntry {
	var lost *TimelineEntry
	holder := ""
	for i := range h.Timeline {
		e := &h.Timeline[i]
		before := holder
		switch e.Event {
		case EventClaimed, EventReassigned:
			holder = e.Actor.ID
			if to, ok := e.Details["assignee"].(map[string]any); ok {
				holder, _ = to["id"].(string)
			}
		case EventPhotosRequested: // the order comes back to who asked
			holder = e.Actor.ID
		case EventReleased, EventCompleted, EventFailed:
			holder = ""
		}
		switch {
		case holder == staffID:
			lost = nil
		case before == staffID && e.Actor.ID != staffID:
			lost = e
		case before == staffID:
			lost = nil
		}
	}
	return lost
}

// PhotoFile is a photo of an order with the hash of its file.
type PhotoFile struct {
	Name      string
	IndexCode string
	SHA256    string
	Erased    bool // the file is gone for good
}
