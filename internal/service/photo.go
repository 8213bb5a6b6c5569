package service

import (
	"context"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
	"golang.org/x/sync/errgroup"
)

// MaxUploadFiles is how many files one upload may hold.
const MaxUploadFiles = 10

// StorePhotos stores the files of one upload for the actor's tenant and returns their managed URLs in the same order:
// all of them are durable when it returns, or none is known.
func (s *Service) StorePhotos(
	ctx context.Context, actor access.Actor, uploads []media.Upload,
) (urls []string, err error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return nil, err
	}
	return s.storePhotos(ctx, actor.Tenant, uploads, func(*store.Tx, []photo.Stored) error { return nil })
}

// storePhotos stores files for a tenant; also runs in the transaction that makes them known.
func (s *Service) storePhotos(
	ctx context.Context, tenant access.Tenant, uploads []media.Upload, also func(*store.Tx, []photo.Stored) error,
) (urls []string, err error) {
	if err := s.checkStorage(ctx, s.store.Queries, tenant.AccountID, uploads); err != nil {
		return nil, err
	}
	rows := make([]photo.Stored, len(uploads))
	urls = make([]string, len(uploads))
	files, fileCtx := errgroup.WithContext(ctx)
	files.SetLimit(4) // the disk syncs a few files at once as fast as one
	for i, u := range uploads {
		name := photo.NewName(u.Info.Format)
		urls[i] = s.mediaURLs.URL(name)
		rows[i] = photo.Stored{
			Name: name, Tenant: tenant, SHA256: u.Staged.SHA256(), Bytes: u.Staged.Size(),
			Width: u.Info.Width, Height: u.Info.Height, OriginalName: u.OriginalName, CreatedAt: s.now(),
		}
		files.Go(func() error { return s.media.Put(fileCtx, name, u.Staged) })
	}
	if err := files.Wait(); err != nil {
		s.discardFiles(ctx, rows)
		return nil, err
	}
	if err := s.store.Update(ctx, func(tx *store.Tx) error {
		if s.limits.StoredBytes > 0 { // others of the account may have stored theirs meanwhile
			if err := tx.LockTeam(tenant.AccountID); err != nil {
				return err
			}
			if err := s.checkStorage(ctx, tx.Queries, tenant.AccountID, uploads); err != nil {
				return err
			}
		}
		if err := tx.InsertPhotos(rows); err != nil {
			return err
		}
		return also(tx, rows)
	}); err != nil {
		if refused(err) {
			s.discardFiles(ctx, rows)
		}
		return nil, err
	}
	return urls, nil
}

// refused reports whether an error of a transaction proves that nothing of it was committed. After any other one, as
// when the answer to a commit is lost, the rows may be there: the sweep of the media store removes the files without.
func refused(err error) bool {
	kind := fault.KindOf(err)
	return kind != fault.Internal && kind != fault.Unavailable || errors.Is(err, errPhotoExists) ||
		store.NothingCommitted(err)
}

// checkStorage refuses an upload with which the photos of an account would take more than they may.
func (s *Service) checkStorage(
	ctx context.Context, q store.Queries, accountID string, uploads []media.Upload,
) error {
	if s.limits.StoredBytes <= 0 {
		return nil
	}
	stored, err := q.StoredBytes(ctx, accountID)
	for _, u := range uploads {
		stored += u.Staged.Size()
	}
	if err != nil || stored <= s.limits.StoredBytes {
		return err
	}
	return StorageLimitReached.With("limit", s.limits.StoredBytes)
}

// StorageLimitReached is the refusal of an upload to an account whose photos take as much as they may.
var StorageLimitReached = fault.New(fault.Conflict, "storage-limit-reached",
	"The photos of the account take as much space as they may. Ask the operator of the service.")

// discardFiles removes files that no row names. What cannot be removed stays behind, unreachable.
func (s *Service) discardFiles(ctx context.Context, rows []photo.Stored) {
	ctx = context.WithoutCancel(ctx)
	for i := range rows {
		if err := s.media.Delete(ctx, rows[i].Name); err != nil {
			s.log.WarnContext(ctx, "file of a failed upload stays behind", "name", rows[i].Name, "error", err)
		}
	}
}

var errPhotoNotFound = fault.Missing("photo")

// Photo returns what is known of an uploaded photo to an actor who may see it: staff see all, account users those of
// their account.
func (s *Service) Photo(ctx context.Context, actor access.Actor, name string) (*photo.Stored, error) {
	p, err := s.store.Photo(ctx, name)
	switch {
	case err == nil && actor.Kind == access.ByStaff:
		return p, actor.Require(access.ReviewOrders)
	case errors.Is(err, store.ErrNotFound) || err == nil && actor.RequireIn(access.ViewAccount, p.AccountID) != nil:
		return nil, errPhotoNotFound
	}
	return p, err
}

// PhotoOwner returns the account of a photo, or nothing when there is no such photo or it cannot be told now.
func (s *Service) PhotoOwner(ctx context.Context, name string) string {
	p, err := s.store.Photo(ctx, name)
	if err != nil {
		return ""
	}
	return p.AccountID
}

// OpenPhoto opens the file of a photo, as media.Store does.
func (s *Service) OpenPhoto(ctx context.Context, name string) (media.File, error) {
	return s.media.Open(ctx, name)
}

// PhotoURL is the managed URL of a photo.
func (s *Service) PhotoURL(name string) string { return s.mediaURLs.URL(name) }

// PhotoName returns the name of the photo with a managed URL, and whether it is one.
func (s *Service) PhotoName(url string) (name string, ok bool) { return s.mediaURLs.Parse(url) }
