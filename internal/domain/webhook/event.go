package webhook

import (
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

// OrderEvent is what happened to an order, whether or not an endpoint was told of it.
type OrderEvent struct {
	access.Tenant
	APIKeyID    string // that created the order
	Position    Cursor
	OrderID     string
	Event       Event
	DeliveryIDs []string
	Body        []byte // of the deliveries, without their ids
	CreatedAt   time.Time
}

// Cursor is a position in the events of a key: right after an event. 0 is before all.
type Cursor int64

// String returns the cursor as the API tells it.
func (c Cursor) String() string { return strconv.FormatInt(int64(c), 10) }

// ParseCursor reads what String returns.
func ParseCursor(s string) (Cursor, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return Cursor(n), err == nil && n >= 0 && Cursor(n).String() == s
}

// CursorExpired is the error for a cursor after which events are no longer kept; all that are kept follow the oldest.
func CursorExpired(oldest Cursor) *fault.Error {
	return fault.New(fault.Gone, "cursor-expired",
		"Events after this cursor are no longer kept: go on from oldest_cursor.").
		With("oldest_cursor", oldest.String())
}

// CursorUnknown is the error for a cursor ahead of every event: it is that of a database which was restored since, or
// of another one.
func CursorUnknown(oldest Cursor) *fault.Error {
	return fault.New(fault.Gone, "cursor-expired",
		"This cursor was not given out by this database, which may have been restored since: go on from oldest_cursor.").
		With("oldest_cursor", oldest.String())
}
