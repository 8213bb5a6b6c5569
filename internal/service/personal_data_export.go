package service

import (
	"context"
	"errors"
	"io"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
)

// ExportTarget receives what is known of an account.
type ExportTarget interface {
	Row(kind string, row map[string]any) error
	Photo(name string, content io.Reader) error
}

// ExportAccount writes all that is known of an account, without secrets, and the files of its photos.
func (s *Service) ExportAccount(ctx context.Context, actor access.Actor, a *access.Account, to ExportTarget) error {
	if err := actor.Require(access.Administer); err != nil {
		return err
	}
	if err := s.store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(
			s.record(tx, actor, accountEvent(audit.DataExported, a.ID, map[string]any{"file": "everything"})),
			s.recordStaffAction(tx, actor, audit.Action{
				Code: audit.AccountExported, AccountID: a.ID, Target: accountTarget(a),
			}))
	}); err != nil {
		return err
	}
	var photos []string
	if err := s.store.Snapshot(ctx, func(q store.Queries) error {
		return q.Export(ctx, a.ID, func(kind string, row map[string]any) error {
			if name, ok := row["name"].(string); ok && kind == "photos" && row["erased_at"] == nil {
				photos = append(photos, name)
			}
			return to.Row(kind, row)
		})
	}); err != nil {
		return err
	}
	done := progress.Begin(ctx, "photos", progress.Items, int64(len(photos)))
	for _, name := range photos {
		if err := s.exportPhoto(ctx, name, to); err != nil {
			return err
		}
		done(1)
	}
	return nil
}

func (s *Service) exportPhoto(ctx context.Context, name string, to ExportTarget) (err error) {
	file, err := s.media.Open(ctx, name)
	if errors.Is(err, media.ErrNotFound) { // deleted since, or missing: the row tells of it
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return to.Photo(name, file)
}
