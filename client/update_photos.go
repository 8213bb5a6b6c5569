package client

import "context"

// UpdatePhoto resolves one requested photo index, with a photo or by stating that there is none.
type UpdatePhoto struct {
	IndexCode string `json:"index_code"`

	// Exactly one of the two:
	URL               string `json:"url,omitempty"`                  // from [UploadResult.URL], unchanged
	IsUnableToProvide bool   `json:"is_unable_to_provide,omitempty"` // no photo of this index can be supplied
}

// UpdatePhotos answers an order's request for photos. Every requested index needs at least one entry; an index can
// have several photos, up to [PhotoToResubmit.MaxPhotos].
type UpdatePhotos struct {
	Photos []UpdatePhoto `json:"photos"`         // 1 to 75
	Note   string        `json:"note,omitempty"` // optional, at most 1000 characters
}

// UpdatePhotosStatus is the status of a submission.
type UpdatePhotosStatus string

// UpdatePhotosAccepted is the only status of a submission: it was accepted as a whole.
const UpdatePhotosAccepted UpdatePhotosStatus = "accepted"

// UpdatePhotosResult is the answer to an accepted submission.
type UpdatePhotosResult struct {
	ID     string             `json:"id"` // of the order
	Status UpdatePhotosStatus `json:"status"`
}

func (r *UpdatePhotosResult) missing() string {
	return firstMissing("id", r.ID, "status", string(r.Status))
}

// SubmitUpdatePhotos answers the photo request of an order in update-photos. The order then continues; it may ask
// again.
//
// The request is never repeated automatically. When it fails and [IsAmbiguous] is true, read the order first: it is in
// update-photos only if the submission was not accepted, or if it asks for photos again.
func (c *Client) SubmitUpdatePhotos(
	ctx context.Context, idOrExternalID string, update UpdatePhotos,
) (*UpdatePhotosResult, error) {
	return sendTo[UpdatePhotosResult](ctx, c, orders, idOrExternalID, "/update_photos", update)
}
