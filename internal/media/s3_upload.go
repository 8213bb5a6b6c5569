package media

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/pause"
)

const (
	// partsFrom is the size from which a file is sent in parts: each costs a request, and one that fails is sent again.
	partsFrom = 64 << 20
	partSize  = 32 << 20
	partsOnce = 3 // parts that are sent at the same time

	abortLimit = 5 * time.Second

	// How long a conditional write waits for another one at the same time, each time twice as long.
	conflictWait    = 20 * time.Millisecond
	maxConflictWait = 2 * time.Second
)

// Put sends the file with its SHA-256, which the server checks. A photo is written only where there is none, so that an
// attempt whose answer was lost is told from a name that is taken.
func (s *S3) Put(ctx context.Context, name string, staged *Staged) error {
	if err := cmp.Or(CheckName(name), ctx.Err()); err != nil {
		return err
	}
	options := minio.PutObjectOptions{ContentType: "image/jpeg", CacheControl: immutable}
	if format, isPhoto := photo.ParseName(name); isPhoto {
		options.ContentType = format.ContentType()
		options.SetMatchETagExcept("*")
	}
	err := s.upload(ctx, keyOf(name), staged, options)
	for wait := conflictWait; hasCode(err, codePreconditionFailed, codeConditionConflict); wait *= 2 {
		same := s.sameOr(ctx, name, staged)
		if !errors.Is(same, ErrNotFound) {
			return same
		}
		// The write that was in the way has not ended, or the file was deleted since.
		if wait > maxConflictWait {
			return unavailable("put "+name, err)
		}
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		err = s.upload(ctx, keyOf(name), staged, options)
	}
	if err := failure(ctx, "put "+name, err); !errors.Is(err, ErrNotFound) {
		return err
	}
	return unavailable("put "+name, err)
}

// sameOr returns nil where the stored file has the bytes of the staged one, and ErrNotFound where there is none.
func (s *S3) sameOr(ctx context.Context, name string, staged *Staged) error {
	f, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	return sameFile(f, name, staged)
}

// sameFile compares a stored file with a staged one, closes it, and returns ErrExists when they differ.
func sameFile(f File, name string, staged *Staged) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := sha256.New()
	if f.Size() == staged.size {
		if _, err := io.Copy(hash, f); err != nil {
			return err
		}
		if [sha256.Size]byte(hash.Sum(nil)) == staged.sum {
			return nil
		}
	}
	return fmt.Errorf("put %s: %w", name, ErrExists)
}

// upload sends the file in one request, or a large one in parts.
func (s *S3) upload(ctx context.Context, key string, staged *Staged, options minio.PutObjectOptions) error {
	ctx, cancel := limited(ctx, staged.size)
	defer cancel()
	options.DisableContentSha256 = true // no hash of every chunk: that of the whole is signed and checked
	if staged.size >= partsFrom {
		return s.uploadParts(ctx, key, staged, options)
	}
	_, err := s.core.PutObject(ctx, s.address.Bucket, key, staged.Reader(), staged.size, "", staged.SHA256(), options)
	return err
}

func (s *S3) uploadParts(ctx context.Context, key string, staged *Staged, options minio.PutObjectOptions) (err error) {
	begin := minio.PutObjectOptions{ContentType: options.ContentType, CacheControl: options.CacheControl}
	id, err := s.core.NewMultipartUpload(ctx, s.address.Bucket, key, begin)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
		defer cancel()
		_ = s.core.AbortMultipartUpload(ctx, s.address.Bucket, key, id) // what stays is discarded by the sweeper
	}()
	parts := make([]minio.CompletePart, (staged.size+partSize-1)/partSize)
	sending, partCtx := errgroup.WithContext(ctx)
	sending.SetLimit(partsOnce)
	for i := range parts {
		sending.Go(func() error {
			from := int64(i) * partSize
			part := io.NewSectionReader(staged, from, min(partSize, staged.size-from))
			hash := sha256.New()
			if _, err := io.Copy(hash, part); err != nil {
				return err
			}
			sent, err := s.core.PutObjectPart(partCtx, s.address.Bucket, key, id, i+1, part, part.Size(),
				minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(hash.Sum(nil)), DisableContentSha256: true})
			parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: sent.ETag}
			return err
		})
	}
	if err := sending.Wait(); err != nil {
		return err
	}
	_, err = s.core.CompleteMultipartUpload(ctx, s.address.Bucket, key, id, parts, options)
	return err
}
