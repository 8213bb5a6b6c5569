package order

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/wire"
)

// Detail is what a customer sees of an order: the detail endpoint, the webhook payloads and the desk all show it.
// Lists that apply to the order's outcome are present even when they are empty.
type Detail struct {
	ID                   string             `json:"id"`
	Status               Status             `json:"status"`
	Outcome              *Outcome           `json:"outcome"`
	OutcomeLocale        *string            `json:"outcome_locale"`
	Delayed              bool               `json:"delayed"`
	Classification       ClassificationView `json:"classification"`
	DueDate              *wire.Timestamp    `json:"due_date"`
	UpdatedAt            *wire.Timestamp    `json:"updated_at"`
	CertificateURL       Nullable           `json:"certificate_url,omitzero"` // present, perhaps null, on completed orders
	OutcomeReasons       []string           `json:"outcome_reasons,omitzero"`
	OutcomeReasonsLocale []string           `json:"outcome_reasons_locale,omitzero"`
	OutcomeIndexes       []string           `json:"outcome_indexes,omitzero"`
	PhotosToResubmit     []PhotoToResubmit  `json:"photos_to_resubmit,omitempty"`
}

// Nullable is a string that may be absent, or present and null.
type Nullable struct {
	Present bool
	Value   *string
}

// MarshalJSON writes the string or null; omitzero leaves out what is absent.
func (n Nullable) MarshalJSON() ([]byte, error) {
	if n.Value == nil {
		return []byte("null"), nil
	}
	return json.Marshal(*n.Value)
}

// Receipt is an order in brief: the answer to a creation.
type Receipt struct {
	ID          string          `json:"id"`
	ExternalID  *string         `json:"external_id"`
	OrderNumber *string         `json:"order_number"`
	Status      Status          `json:"status"`
	DueDate     *wire.Timestamp `json:"due_date"`
}

// Receipt returns what the creator of the order is told.
func (o *Order) Receipt() Receipt {
	return Receipt{
		ID: o.ID, ExternalID: o.ExternalID, OrderNumber: &o.Number, Status: o.Status,
		DueDate: wire.OptionalTimestamp(o.DueAt),
	}
}

// ReceiptID returns the order's id in a receipt that was written as JSON.
func ReceiptID(receipt []byte) (string, error) {
	var r struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(receipt, &r); err != nil {
		return "", fmt.Errorf("read the receipt of an order: %w", err)
	}
	return r.ID, nil
}

// ClassificationView is the customer's form of a classification.
type ClassificationView struct {
	BrandCode       *string `json:"brand_code"`
	CategoryCode    *string `json:"category_code"`
	ModelCode       *string `json:"model_code"`
	ModelName       *string `json:"model_name"`
	ModelNameLocale *string `json:"model_name_locale"`
}

// PhotoToResubmit is the customer's form of a photo request.
type PhotoToResubmit struct {
	IndexCode          string   `json:"index_code"`
	Name               string   `json:"name"`
	NameLocale         string   `json:"name_locale"`
	Condition          *string  `json:"condition"`
	ConditionLocale    *string  `json:"condition_locale"`
	Requirements       []string `json:"requirements"`
	RequirementsLocale []string `json:"requirements_locale"`
	Comment            *string  `json:"comment"`
	ReferencePhotoURL  *string  `json:"reference_photo_url"`
	MaxPhotos          int      `json:"max_photos"`
}

// CertificateURL tells where the certificate with an id is shown.
type CertificateURL func(id string) string

// View renders the order for a customer at a time, in a locale.
func (o *Order) View(l text.Locale, now time.Time, certificate CertificateURL) Detail {
	d := Detail{
		ID: o.ID, Status: o.Status, Delayed: o.IsDelayed(now), Classification: o.Classification.view(l),
		DueDate: wire.OptionalTimestamp(o.DueAt), UpdatedAt: new(wire.Timestamp(o.UpdatedAt)),
	}
	if o.Outcome != "" {
		d.Outcome = new(o.Outcome)
		d.OutcomeLocale = new(o.Outcome.Label().In(l))
	}
	if o.Status == Completed {
		d.CertificateURL.Present = true
		if o.CertificateID != "" {
			d.CertificateURL.Value = new(certificate(o.CertificateID))
		}
		if o.Outcome.HasPublicReasons() {
			d.OutcomeReasons = make([]string, len(o.Reasons))
			d.OutcomeReasonsLocale = make([]string, len(o.Reasons))
			for i, r := range o.Reasons {
				d.OutcomeReasons[i], d.OutcomeReasonsLocale[i] = r.Text.EN, r.Text.In(l)
			}
		}
		if o.Outcome == Fake {
			d.OutcomeIndexes = append([]string{}, o.OutcomeIndexes...)
		}
	}
	if o.Status == UpdatePhotos {
		d.PhotosToResubmit = make([]PhotoToResubmit, len(o.Requested))
		for i := range o.Requested {
			d.PhotosToResubmit[i] = o.Requested[i].view(l)
		}
	}
	return d
}

func (c *Classification) view(l text.Locale) ClassificationView {
	v := ClassificationView{BrandCode: &c.BrandCode, CategoryCode: &c.CategoryCode}
	if c.ModelCode != "" {
		v.ModelCode = &c.ModelCode
	}
	if c.ModelName != nil {
		v.ModelName = &c.ModelName.EN
		v.ModelNameLocale = new(c.ModelName.In(l))
	}
	return v
}

func (p *PhotoRequest) view(l text.Locale) PhotoToResubmit {
	v := PhotoToResubmit{
		IndexCode: p.IndexCode, Name: p.Name.EN, NameLocale: p.Name.In(l), MaxPhotos: p.MaxPhotos,
		Requirements: make([]string, len(p.Requirements)), RequirementsLocale: make([]string, len(p.Requirements)),
	}
	if p.Condition != nil {
		v.Condition = &p.Condition.Code
		v.ConditionLocale = new(p.Condition.Text.In(l))
	}
	for i, r := range p.Requirements {
		v.Requirements[i] = r.Code
		v.RequirementsLocale[i] = r.Text.In(l)
	}
	if p.Comment != "" {
		v.Comment = &p.Comment
	}
	if p.ReferencePhotoURL != "" {
		v.ReferencePhotoURL = &p.ReferencePhotoURL
	}
	return v
}
