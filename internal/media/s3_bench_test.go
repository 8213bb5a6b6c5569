package media

import (
	"bytes"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/s3test"
	"github.com/minio/minio-go/v7"
)

// BenchmarkS3 stores a photo of 2 MB as an upload does, staging included, and beside it with a bare PutObject.
func BenchmarkS3(b *testing.B) {
	server := s3test.Start(b)
	address := server.Bucket(b)
	bucket, client, file := s3test.BucketName(b, address), server.Client(b), content("photo", 2_000_000)
	store, err := Open(address, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	staging, err := NewStaging(store.StagingDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Put", func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		b.ReportAllocs()
		for b.Loop() {
			staged, err := staging.Stage(b.Context(), bytes.NewReader(file), int64(len(file)))
			if err != nil {
				b.Fatal(err)
			}
			if err := store.Put(b.Context(), photo.NewName(photo.JPEG), staged); err != nil {
				b.Fatal(err)
			}
			if err := staged.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Bare", func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.PutObject(b.Context(), bucket, "bare/"+photo.NewName(photo.JPEG), bytes.NewReader(file),
				int64(len(file)), minio.PutObjectOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
