package photo

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// Stored is what is known of an uploaded photo.
type Stored struct {
	Name string
	access.Tenant
	SHA256       string
	Bytes        int64
	Width        int
	Height       int
	OriginalName string
	CreatedAt    time.Time
	Used         bool // by an order
	Erased       bool // its file is gone for good
}

// Totals is how many photos there are, and how many bytes they have.
type Totals struct{ Photos, Bytes int64 }
