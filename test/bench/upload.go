package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	uploadName     = "upload of 10 MB photos"
	uploadFiles    = 10
	uploadParallel = 4
	uploadRounds   = 3
	photoSize      = 10_000_000
)

// uploads compares uploading with a bare copy of the same files to the same disk, flushed like photos: 4 at a time.
func uploads(ctx context.Context, s *suite) (err error) {
	if !s.wanted(uploadName) {
		return nil
	}
	i, err := s.seeded(ctx, sqlite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	photo, err := largePhoto(photoSize)
	if err != nil {
		return err
	}
	var rates, bases, ratios []float64
	for range uploadRounds {
		rate, err := throughput(func(int) error { return upload(ctx, i.server.http, i.header(), photo) })
		if err != nil {
			return err
		}
		base, err := throughput(func(worker int) error {
			for n := range uploadFiles {
				if err := copyToDisk(filepath.Join(i.folder, fmt.Sprintf("copy-%d-%d", worker, n)), photo); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		rates, bases, ratios = append(rates, rate), append(bases, base), append(ratios, rate/base)
	}
	s.report.add(figure{
		Name: uploadName, Ratio: median(ratios), Rate: median(rates), Base: median(bases), Unit: "MB/s",
		Versus: "a bare copy to disk with fsync",
	})
	return nil
}

// upload sends a prepared multipart body, to leave the CPU to the server.
func upload(ctx context.Context, address string, header http.Header, photo []byte) (err error) {
	const boundary = "bench-boundary"
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
	status, err := readAnswer(bufio.NewReader(connection))
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("upload: status %d", status)
	}
	return err
}

// throughput runs the work concurrently and returns megabytes per second.
func throughput(work func(worker int) error) (float64, error) {
	var all errgroup.Group
	started := time.Now()
	for worker := range uploadParallel {
		all.Go(func() error { return work(worker) })
	}
	err := all.Wait()
	return uploadParallel * uploadFiles * photoSize / 1e6 / time.Since(started).Seconds(), err
}

func copyToDisk(path string, content []byte) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(struct{ io.Writer }{f}, bytes.NewReader(content))
	return errors.Join(err, f.Sync(), f.Close())
}

// largePhoto returns a valid PNG of the size: a small picture padded with a private chunk of noise.
func largePhoto(size int) ([]byte, error) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 16, 9))); err != nil {
		return nil, err
	}
	const endChunk = 12 // IEND: length, type and checksum, no content
	body := picture.Bytes()
	split := len(body) - endChunk
	padding := make([]byte, size-len(body)-endChunk)
	_, _ = rand.NewChaCha8([32]byte{}).Read(padding) // never fails
	chunk := append([]byte("asSy"), padding...)
	photo := append([]byte{}, body[:split]...)
	photo = binary.BigEndian.AppendUint32(photo, uint32(len(padding)))
	photo = append(photo, chunk...)
	photo = binary.BigEndian.AppendUint32(photo, crc32.ChecksumIEEE(chunk))
	return append(photo, body[split:]...), nil
}
