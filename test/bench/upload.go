package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/s3test"
)

const (
	uploadName    = "POST /photos"
	s3UploadName  = "S3: POST /photos"
	uploadFiles   = 10
	uploadClients = 4
	uploadSize    = 4_000_000
	uploadMemory  = 32 // MB that the program's memory may grow by after its first uploads: less than a hundredth of them
)

// uploads compares uploading with what it has to do at least: copy the same files to the same disk, hash them and flush
// them. Both are four at a time, and both keep the files of a round until it is over: a side that kept more of them
// would write into memory that the machine has not used before, which costs several times as much.
func uploads(ctx context.Context, s *suite) error {
	i, err := s.install(ctx, sqlite, 1)
	if err != nil {
		return err
	}
	folder := filepath.Join(i.folder, "copies")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	var copies atomic.Int64
	return i.uploads(ctx, uploadName, atLeast(0.85), "copy + SHA-256 + fsync", func(photo []byte) error {
		return copyToDisk(filepath.Join(folder, fmt.Sprint(copies.Add(1))), photo)
	}, func() error {
		return errors.Join(removeFiles(folder), removeFiles(filepath.Join(i.folder, "data", "media")))
	})
}

// removeFiles removes all files in a folder and those in it.
func removeFiles(folder string) error {
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return os.Remove(path)
	})
}

// s3Uploads compares uploading into a bucket with putting the same files there.
func s3Uploads(ctx context.Context, s *suite) error {
	folder := filepath.Join(s.folder, "s3")
	storage, err := s3test.Launch(ctx, folder)
	if err != nil {
		return err
	}
	s.later(func() error { return errors.Join(storage.Close(), os.RemoveAll(folder)) })
	bucket, address, err := storage.NewBucket(ctx)
	if err != nil {
		return err
	}
	client, err := storage.NewClient()
	if err != nil {
		return err
	}
	settings := []string{"ASSAY_MEDIA=" + address}
	for name, value := range s3test.Credentials() {
		settings = append(settings, name+"="+value)
	}
	i, err := s.install(ctx, sqlite, 1, settings...)
	if err != nil {
		return err
	}
	var objects atomic.Int64
	return i.uploads(ctx, s3UploadName, atLeast(0.7), "a bare PutObject loop", func(photo []byte) error {
		_, err := client.PutObject(ctx, bucket, fmt.Sprintf("bare/%d", objects.Add(1)), bytes.NewReader(photo),
			int64(len(photo)), minio.PutObjectOptions{})
		return err
	}, func() error { return nil })
}

// uploads compares uploads into an installation with what stores one photo otherwise; clean is called after each round.
func (i *installation) uploads(
	ctx context.Context, kind string, g goal, versus string, store func(photo []byte) error, clean func() error,
) error {
	s := i.suite
	shop, err := i.launch(ctx)
	if err != nil {
		return err
	}
	photo := largePhoto(uploadSize)
	name := fmt.Sprintf("%s, %d × 4 MB, %d clients", kind, uploadFiles, uploadClients)
	var bytesSent atomic.Int64
	a := transferSide(name, shop.server.process.PID(), &bytesSent, clean, func() error {
		return upload(ctx, shop.server.http, shop.header(), photo)
	})
	b := transferSide(versus, os.Getpid(), new(atomic.Int64), clean, func() error {
		for range uploadFiles {
			if err := store(photo); err != nil {
				return err
			}
		}
		return nil
	})
	if _, err := a.round(ctx, s.warmUp); err != nil {
		return err
	}
	before, err := memory(shop.server.process.PID(), "VmHWM")
	if err != nil {
		return err
	}
	if err := s.interleave(ctx, a, b); err != nil {
		return err
	}
	s.rates(name, "MB/s", g, a, b)
	if err := s.profile(ctx, name, shop.server.ops, func(ctx context.Context, d time.Duration) error {
		_, err := a.round(ctx, d)
		return err
	}); err != nil {
		return err
	}
	after, err := memory(shop.server.process.PID(), "VmHWM")
	if err != nil {
		return err
	}
	grown := fmt.Sprintf("%s: growth of memory while %.1f GB are uploaded", kind, float64(bytesSent.Load())/1e9)
	if s.wanted(grown) {
		s.report.add(value(grown, "MB", "peak after, less peak before", []float64{after - before}, atMost(uploadMemory)))
	}
	return nil
}

// transferSide repeats a transfer of uploadFiles photos with some clients; its rate is megabytes a second, its work CPU
// time for a photo.
func transferSide(name string, pid int, total *atomic.Int64, clean, work func() error) *side {
	return &side{name: name, round: func(ctx context.Context, d time.Duration) (sample, error) {
		before, err := processorTime(pid)
		if err != nil {
			return sample{}, err
		}
		var photos atomic.Int64
		started := time.Now()
		var clients errgroup.Group
		for range uploadClients {
			clients.Go(func() error {
				for turn := 0; turn == 0 || time.Since(started) < d; turn++ {
					if err := work(); err != nil {
						return err
					}
					photos.Add(uploadFiles)
				}
				return ctx.Err()
			})
		}
		if err := clients.Wait(); err != nil {
			return sample{}, err
		}
		total.Add(photos.Load() * uploadSize)
		took := time.Since(started)
		after, err := processorTime(pid)
		return sample{
			rate: float64(photos.Load()) * uploadSize / 1e6 / took.Seconds(),
			work: (after - before) / time.Duration(photos.Load()),
		}, errors.Join(err, clean())
	}}
}

// upload sends a prepared multipart body, to leave the CPU to the server, and checks that all photos were taken.
func upload(ctx context.Context, address string, header http.Header, photo []byte) (err error) {
	const boundary = "------------------------9f3cXq27bYdMwLk81RzTuE" // as long as those of curl
	var body net.Buffers
	for n := range uploadFiles {
		body = append(body, fmt.Appendf(nil,
			"--%s\r\nContent-Disposition: form-data; name=\"photos\"; filename=\"%d.png\"\r\n\r\n", boundary, n), photo,
			[]byte("\r\n"))
	}
	body = append(body, []byte("--"+boundary+"--\r\n"))
	length := 0
	for _, part := range body {
		length += len(part)
	}
	head := fmt.Appendf(nil, "POST %s/photos HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Type: "+
		"multipart/form-data; boundary=%s\r\nContent-Length: %d\r\n\r\n",
		prefix, address, header.Get("Authorization"), boundary, length)

	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	request := append(net.Buffers{head}, body...)
	if _, err := request.WriteTo(connection); err != nil {
		return err
	}
	var answer []byte
	status, err := readAnswer(bufio.NewReader(connection), &answer)
	if taken := bytes.Count(answer, []byte(`"url":"https://`)); err == nil &&
		(status != http.StatusCreated || taken != uploadFiles) {
		err = fmt.Errorf("upload: status %d, %d photos were taken\n%s", status, taken, answer)
	}
	return err
}

// copyToDisk writes a file that is on disk afterwards, and returns its hash's error: there is none.
func copyToDisk(path string, content []byte) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), bytes.NewReader(content))
	_ = sum.Sum(nil)
	return errors.Join(err, f.Sync(), f.Close())
}

// largePhoto returns a valid PNG of the size: a small picture padded with a private chunk of noise.
func largePhoto(size int) []byte {
	const endChunk = 12 // IEND: length, type and checksum, no content
	body := pictures.GrayPNG(16, 9)
	split := len(body) - endChunk
	padding := make([]byte, size-len(body)-endChunk)
	_, _ = rand.NewChaCha8([32]byte{}).Read(padding) // never fails
	chunk := append([]byte("asSy"), padding...)
	photo := append([]byte{}, body[:split]...)
	photo = binary.BigEndian.AppendUint32(photo, uint32(len(padding)))
	photo = append(photo, chunk...)
	photo = binary.BigEndian.AppendUint32(photo, crc32.ChecksumIEEE(chunk))
	return append(photo, body[split:]...)
}
