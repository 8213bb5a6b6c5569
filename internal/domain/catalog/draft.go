package catalog

import "time"

// Draft is an uploaded catalog that is not imported yet.
type Draft struct {
	ID          string
	Document    []byte
	FileName    string
	BaseVersion int64 // of the catalog that it was compared with
	StaffID     string
	CreatedAt   time.Time
}

// Pause says who has paused an answer time, and when.
type Pause struct {
	StaffName string
	At        time.Time
}
