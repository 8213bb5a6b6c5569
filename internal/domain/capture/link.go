// Package capture holds the rules of capture links: addresses where a seller takes the photos of an item on a phone,
// without an account and without a key.
package capture

import (
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
)

// Bounds of links.
const (
	MinLife     = time.Hour
	MaxLife     = 7 * 24 * time.Hour
	DefaultLife = 48 * time.Hour

	MaxOpen    = 1000 // open links of an account
	MaxUploads = 300  // photos sent through a link in all, with those that were taken again
)

// Status is how far a link is.
type Status string

// The statuses. All but Open are final.
const (
	Open      Status = "open"
	Submitted Status = "submitted"
	Expired   Status = "expired"
	Revoked   Status = "revoked"
)

// Link is a capture link: for an item, or for the photo request of an order.
type Link struct {
	ID        string
	TokenHash string // of the secret in its address
	access.Tenant
	MadeBy access.Actor // a key or an account user: who its submission is attributed to

	CategoryCode string
	BrandCode    string
	ModelCode    string // empty: none
	ExternalID   string // empty: none
	OrderID      string // empty: it is for an item
	Round        int    // of the photo request

	Locale    text.Locale // empty: that of the visitor's browser
	ReturnURL string      // empty: none
	Uploads   int         // photos sent so far

	CreatedAt   time.Time
	ExpiresAt   time.Time
	SubmittedAt *time.Time
	RevokedAt   *time.Time
	Photos      []Photo
}

// Photo is a photo that was sent through a link. The key is chosen by the page, so that a repeated upload is
// recognised.
type Photo struct {
	Key       string
	IndexCode string
	Name      string // of the stored file
}

// StatusAt returns the status of the link at a time.
func (l *Link) StatusAt(now time.Time) Status {
	switch {
	case l.SubmittedAt != nil:
		return Submitted
	case l.RevokedAt != nil:
		return Revoked
	case !now.Before(l.ExpiresAt):
		return Expired
	}
	return Open
}

// Item is what the photos are to be of.
func (l *Link) Item() catalog.Context {
	return catalog.Context{Category: l.CategoryCode, Brand: l.BrandCode, Model: l.ModelCode}
}

// Photo returns the photo with the key, or nil.
func (l *Link) Photo(key string) *Photo {
	for i := range l.Photos {
		if l.Photos[i].Key == key {
			return &l.Photos[i]
		}
	}
	return nil
}

// Answers reports whether the order still waits for the photos that the link is for.
func (l *Link) Answers(o *order.Order) bool {
	return o.Status == order.UpdatePhotos && o.Round == l.Round
}

// Wanted is an index that a link asks for.
type Wanted struct {
	Code      string
	Name      text.Text
	Required  bool
	MaxPhotos int
	Example   string // address of a picture; empty: none

	// Of photo requests only.
	Condition    *order.CodedText
	Requirements []order.CodedText
	Comment      string
}

// WantedOf returns what a link asks for: all photo indexes of its item or, where it is for an order, those of the
// order's photo request. o is nil for an item.
func WantedOf(indexes []*catalog.PhotoIndex, o *order.Order) []Wanted {
	ofItem := make([]Wanted, len(indexes))
	for i, x := range indexes {
		ofItem[i] = Wanted{Code: x.Code, Name: x.Name, Required: x.Required, MaxPhotos: x.PhotoLimit}
		if len(x.ExampleURLs) > 0 {
			ofItem[i].Example = x.ExampleURLs[0]
		}
	}
	if o == nil {
		return ofItem
	}
	requested := make([]Wanted, len(o.Requested))
	for i := range o.Requested {
		r := &o.Requested[i]
		requested[i] = Wanted{
			Code: r.IndexCode, Name: r.Name, Required: true, MaxPhotos: r.MaxPhotos, Example: r.ReferencePhotoURL,
			Condition: r.Condition, Requirements: r.Requirements, Comment: r.Comment,
		}
		if x := Find(ofItem, r.IndexCode); x != nil && r.ReferencePhotoURL == "" {
			requested[i].Example = x.Example
		}
	}
	return requested
}

// Find returns the wanted index with the code, or nil.
func Find(wanted []Wanted, code string) *Wanted {
	for i := range wanted {
		if wanted[i].Code == code {
			return &wanted[i]
		}
	}
	return nil
}

// CheckPhoto refuses a further photo of an index that is not wanted or is full.
func (l *Link) CheckPhoto(wanted []Wanted, code string) error {
	w := Find(wanted, code)
	if w == nil {
		return fault.New(fault.Invalid, "invalid-photo-index", "The photo index is not one of this link.")
	}
	n := 0
	for _, p := range l.Photos {
		if p.IndexCode == code {
			n++
		}
	}
	if n >= w.MaxPhotos || len(l.Photos) >= order.MaxPhotos {
		return fault.New(fault.Invalid, "photo-limit-exceeded", "There are enough photos of this index.").
			With("index_code", code).With("limit", w.MaxPhotos)
	}
	if l.Uploads >= MaxUploads {
		return fault.New(fault.Conflict, "capture-upload-limit-reached",
			"Too many photos were sent through this link.").With("limit", MaxUploads)
	}
	return nil
}

// CheckSubmission refuses a submission without a photo of every index that needs one. unable are the indexes of a photo
// request that the seller cannot provide.
func (l *Link) CheckSubmission(wanted []Wanted, unable []string) error {
	have := make(map[string]bool)
	for _, p := range l.Photos {
		have[p.IndexCode] = true
	}
	if l.OrderID != "" {
		for _, code := range unable {
			have[code] = true
		}
	}
	var missing []string
	for i := range wanted {
		if wanted[i].Required && !have[wanted[i].Code] {
			missing = append(missing, wanted[i].Code)
		}
	}
	if missing != nil || len(have) == 0 {
		return fault.New(fault.Invalid, "missing-photo-indexes", "Photos are missing.").With("missing_index_codes", missing)
	}
	return nil
}

// NotFound is the refusal of a link that does not exist for the caller.
var NotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such capture link.").
	With("entity", "capture_link")

// Ended is the refusal of a link that was used, has expired, was revoked, or whose photo request is answered.
var Ended = fault.New(fault.Gone, "capture-link-ended", "This link can no longer be used.")

// LimitReached is the refusal of a link beyond MaxOpen.
var LimitReached = fault.New(fault.Conflict, "capture-link-limit-reached",
	"This account already has "+strconv.Itoa(MaxOpen)+" open capture links.").With("limit", MaxOpen)
