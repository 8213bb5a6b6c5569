package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// s3Head is how much of a file is read when it is opened: all of a derived image, and what decoders want of a photo.
	s3Head = 256 << 10
	// s3Skip is how far reading on is cheaper than another request.
	s3Skip = 64 << 10
)

// s3File is an object opened for reading. Its beginning is in memory; what follows is requested from where it is read.
// A connection that breaks is replaced by another one, for the rest of the same bytes.
type s3File struct {
	store  *S3
	ctx    context.Context // of Open: it also applies to reading
	cancel context.CancelFunc
	name   string
	stat   Stat
	etag   string
	head   []byte

	at      int64 // of the next read
	body    io.ReadCloser
	bodyAt  int64
	endBody context.CancelFunc
}

// errBroken is the error of an answer that ended too early. It is asked for again; the client has repeated whatever
// else is worth it.
var errBroken = errors.New("the answer of the S3 server broke off")

func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return errBroken
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// Open requests the beginning of the object.
func (s *S3) Open(ctx context.Context, name string) (File, error) {
	if CheckName(name) != nil {
		return nil, ErrNotFound
	}
	f := &s3File{store: s, name: name}
	var err error
	for range s3Attempts {
		if err = f.readHead(ctx); !errors.Is(err, errBroken) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return nil, failure(ctx, "open "+name, err)
	}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f, nil
}

func (f *s3File) readHead(ctx context.Context) error {
	ctx, cancel := limited(ctx, 0)
	defer cancel()
	var options minio.GetObjectOptions
	if err := options.SetRange(0, s3Head-1); err != nil {
		return err
	}
	key := keyOf(f.name)
	body, info, header, err := f.store.core.GetObject(ctx, f.store.address.Bucket, key, options)
	if hasCode(err, codeInvalidRange) { // an empty file has no first byte
		info, err := f.store.core.StatObject(ctx, f.store.address.Bucket, key, minio.StatObjectOptions{})
		if err == nil && info.Size > 0 {
			err = fmt.Errorf("the server has no first bytes of %d", info.Size)
		}
		f.stat = Stat{ModTime: info.LastModified}
		return err
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was read, or failed
	if f.stat, err = statOf(info, header); err != nil {
		return err
	}
	f.etag = info.ETag
	var head bytes.Buffer
	if _, err := head.ReadFrom(io.LimitReader(body, s3Head)); err != nil {
		return broken(err)
	}
	f.head = head.Bytes()
	if want := min(f.stat.Size, s3Head); int64(len(f.head)) != want {
		return errBroken
	}
	return nil
}

// statOf returns the size of the whole object, of which the answer holds a part.
func statOf(info minio.ObjectInfo, header http.Header) (Stat, error) {
	stat := Stat{Size: info.Size, ModTime: info.LastModified}
	if _, size, ok := strings.Cut(header.Get("Content-Range"), "/"); ok {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return Stat{}, fmt.Errorf("Content-Range of the server: %w", err)
		}
		stat.Size = n
	}
	return stat, nil
}

func (f *s3File) Size() int64        { return f.stat.Size }
func (f *s3File) ModTime() time.Time { return f.stat.ModTime }

// Seek requests nothing.
func (f *s3File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.stat.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("media: seek %s: %w", f.name, fs.ErrInvalid)
	}
	f.at = offset
	return offset, nil
}

func (f *s3File) Read(p []byte) (int, error) {
	if f.at >= f.stat.Size {
		return 0, io.EOF
	}
	if f.at < int64(len(f.head)) {
		n := copy(p, f.head[f.at:])
		f.at += int64(n)
		return n, nil
	}
	var err error
	for range s3Attempts {
		var n int
		if n, err = f.readBody(p); n > 0 || err == nil {
			f.at += int64(n)
			return n, nil
		}
		f.closeBody()
		if !errors.Is(err, errBroken) || f.ctx.Err() != nil {
			break
		}
	}
	return 0, failure(f.ctx, "read "+f.name, err)
}

// readBody reads from the answer to a request for the bytes from f.at.
func (f *s3File) readBody(p []byte) (int, error) {
	if skip := f.at - f.bodyAt; f.body != nil && skip > 0 && skip <= s3Skip {
		n, err := io.CopyN(io.Discard, f.body, skip)
		f.bodyAt += n
		if err != nil {
			return 0, broken(err)
		}
	}
	if f.body == nil || f.bodyAt != f.at {
		f.closeBody()
		var options minio.GetObjectOptions
		err := options.SetRange(f.at, f.stat.Size-1)
		if err == nil {
			err = options.SetMatchETag(f.etag)
		}
		if err != nil {
			return 0, err
		}
		ctx, cancel := context.WithCancel(f.ctx)
		late := time.AfterFunc(s3Limit, cancel)
		body, _, _, err := f.store.core.GetObject(ctx, f.store.address.Bucket, keyOf(f.name), options)
		late.Stop()
		if err != nil {
			cancel()
			return 0, err
		}
		f.body, f.bodyAt, f.endBody = body, f.at, cancel
	}
	late := time.AfterFunc(s3Stall, f.endBody)
	defer late.Stop()
	n, err := f.body.Read(p)
	f.bodyAt += int64(n)
	if err != nil {
		err = broken(err)
	}
	return n, err
}

// closeBody gives the connection back where little is left to read, and drops it otherwise.
func (f *s3File) closeBody() {
	if f.body == nil {
		return
	}
	if f.stat.Size-f.bodyAt <= s3Skip {
		late := time.AfterFunc(time.Second, f.endBody)
		_, _ = io.CopyN(io.Discard, f.body, s3Skip) // best effort
		late.Stop()
	}
	_ = f.body.Close() // read only
	f.endBody()
	f.body = nil
}

// Close ends what is being read.
func (f *s3File) Close() error {
	f.closeBody()
	f.cancel()
	return nil
}
