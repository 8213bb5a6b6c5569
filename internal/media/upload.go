package media

import (
	"context"
	"errors"
	"io"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
)

// Upload is an uploaded file that has passed the rules for photos.
type Upload struct {
	Staged       *Staged
	Info         photo.Info
	OriginalName string
}

// CloseUploads discards the staged files of uploads. What was stored stays stored.
func CloseUploads(uploads []Upload) {
	for _, u := range uploads {
		_ = u.Staged.Close() // what cannot be removed now is removed at the next start
	}
}

// Accept stages an uploaded file and checks that it is a photo of at most maxBytes. refusal says which rule the file
// breaks; the rest of r is then read to its end, so that what follows it can be. err ends the whole upload: r cannot be
// read, or the disk cannot be written.
func (s *Staging) Accept(
	ctx context.Context, r io.Reader, name string, maxBytes int64,
) (u Upload, refusal *fault.Error, err error) {
	u.OriginalName = photo.OriginalName(name)
	if u.Staged, err = s.Stage(ctx, r, maxBytes); err == nil {
		if u.Info, err = photo.Inspect(u.Staged, u.Staged.Size()); err == nil {
			err = photo.CheckWhole(u.Staged, u.Staged.Size(), u.Info.Format)
		}
		if err == nil && s.stripLocation {
			err = u.Staged.stripLocation(u.Info.Format)
		}
		if err == nil {
			return u, nil, nil
		}
		_ = u.Staged.Close()
	}
	u.Staged = nil
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return u, nil, err
		}
		return u, f, nil
	}
	return u, nil, err
}
