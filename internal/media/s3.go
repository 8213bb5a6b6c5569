package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
)

const (
	photoPrefix = "photos/"
	probeKey    = "probe"

	// signedFor is how long the signed URLs of a redirect are valid.
	signedFor = 5 * time.Minute

	// s3Attempts is how often a request is tried: enough for a server that restarts within a second.
	s3Attempts = 4
	// s3Limit is how long a request may take with all attempts; one that moves a file gets the time for its bytes besides.
	s3Limit = 10 * time.Second
	// s3Stall is how long the server may be silent. It is shorter than s3Limit, so that there is a second try.
	s3Stall = 6 * time.Second

	codeNoSuchKey          = "NoSuchKey"
	codePreconditionFailed = "PreconditionFailed"
	codeConditionConflict  = "ConditionalRequestConflict" // of two conditional writes at the same time
	codeInvalidRange       = "InvalidRange"
)

// S3 is a Store in a bucket of S3 or a compatible server: photos below photos/, derived images below derived/. Any
// number of processes may share it. Uploads are staged in a local directory.
type S3 struct {
	core      minio.Core
	address   *S3Address
	staging   string
	transport *http.Transport
}

var (
	_ Store   = (*S3)(nil)
	_ Locator = (*S3)(nil)
)

// NewS3 returns the store of a bucket, which must exist; it does not connect. Credentials come from the environment
// (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), the shared credentials file, or the role of the machine or container.
func NewS3(address *S3Address, stagingDir string) (*S3, error) {
	s := &S3{address: address, staging: stagingDir, transport: s3Transport()}
	client, err := minio.New(address.Endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Timeout: s3Stall}},
		}),
		Secure: address.Endpoint.Scheme == "https", Region: address.Region, BucketLookup: address.lookup,
		MaxRetries: s3Attempts, Transport: s.transport,
	})
	if err != nil {
		return nil, fmt.Errorf("media: %w", err)
	}
	s.core = minio.Core{Client: client}
	return s, nil
}

func s3Transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
		MaxIdleConns: 256, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: s3Stall, ExpectContinueTimeout: s3Stall,
		DisableCompression: true, // the bytes of a file are what they are
	}
}

// Close closes idle connections.
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// StagingDir returns the local directory for NewStaging.
func (s *S3) StagingDir() string { return s.staging }

func keyOf(name string) string {
	if IsDerived(name) {
		return DerivedPrefix + "/" + name
	}
	return photoPrefix + name
}

// limited returns a context for one request that may take the usual time, and that for size bytes at 1 MiB a second.
func limited(ctx context.Context, size int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s3Limit+time.Duration(size>>20)*time.Second)
}

// failure maps the error of a request. ctx is the caller's: where that has ended, the caller gets its error.
func failure(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case hasCode(err, codeNoSuchKey):
		return ErrNotFound
	}
	return unavailable(doing, err)
}

func hasCode(err error, codes ...string) bool {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && slices.Contains(codes, answer.Code)
}

// Stat asks for the head of the object.
func (s *S3) Stat(ctx context.Context, name string) (Stat, error) {
	if CheckName(name) != nil {
		return Stat{}, ErrNotFound
	}
	request, cancel := limited(ctx, 0)
	defer cancel()
	info, err := s.core.StatObject(request, s.address.Bucket, keyOf(name), minio.StatObjectOptions{})
	if err != nil {
		return Stat{}, failure(ctx, "stat "+name, err)
	}
	return Stat{Size: info.Size, ModTime: info.LastModified}, nil
}

// Delete removes the derived images at the same time, the photo, and the images once more; see derivedOf.
func (s *S3) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	request, cancel := limited(ctx, 0)
	defer cancel()
	remove := func(name string) error {
		err := s.core.RemoveObject(request, s.address.Bucket, keyOf(name), minio.RemoveObjectOptions{})
		err = failure(ctx, "delete "+name, err)
		if errors.Is(err, ErrNotFound) { // some servers say so
			return nil
		}
		return err
	}
	removeDerived := func() error {
		var all errgroup.Group
		for _, image := range derivedOf(name) {
			all.Go(func() error { return remove(image) })
		}
		return all.Wait()
	}
	if err := removeDerived(); err != nil {
		return err
	}
	if err := remove(name); err != nil {
		return err
	}
	return removeDerived()
}

// Names lists page by page.
func (s *S3) Names(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := ctx.Err(); err != nil {
			yield("", err)
			return
		}
		options := minio.ListObjectsOptions{Prefix: photoPrefix, Recursive: true}
		for object := range s.core.ListObjectsIter(ctx, s.address.Bucket, options) {
			if object.Err != nil {
				yield("", failure(ctx, "list", object.Err))
				return
			}
			name := strings.TrimPrefix(object.Key, photoPrefix)
			if _, ok := photo.ParseName(name); ok && !yield(name, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // the iterator ends without a word then
			yield("", err)
		}
	}
}

// DiscardUnfinished ends the uploads in parts that were begun before the time: their parts take space that no list
// shows. One that cannot be ended is passed over: the error names it.
func (s *S3) DiscardUnfinished(ctx context.Context, before time.Time) (discarded int, err error) {
	listing, stop := context.WithCancel(ctx)
	defer stop()
	var skipped fault.Skipped
	for upload := range s.core.ListIncompleteUploads(listing, s.address.Bucket, photoPrefix, true) {
		if upload.Err != nil {
			return discarded, failure(ctx, "list unfinished uploads", upload.Err)
		}
		if !upload.Initiated.Before(before) {
			continue
		}
		err := s.core.AbortMultipartUpload(ctx, s.address.Bucket, upload.Key, upload.UploadID)
		if err != nil && !hasCode(err, "NoSuchUpload") {
			skipped.Add(failure(ctx, "end an unfinished upload", err))
			continue
		}
		discarded++
	}
	return discarded, cmp.Or(ctx.Err(), skipped.OrNil())
}

// Ping stages a small file and puts it into the bucket, as an upload does.
func (s *S3) Ping(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.staging, 0o700); err != nil {
		return unavailable("ping", err)
	}
	f, err := os.CreateTemp(s.staging, stagedPrefix)
	if err != nil {
		return unavailable("ping", err)
	}
	defer func() {
		if e := errors.Join(f.Close(), os.Remove(f.Name())); e != nil && !errors.Is(e, fs.ErrNotExist) && err == nil {
			err = unavailable("ping", e)
		}
	}()
	staged := &Staged{file: f}
	if err := staged.fill(ctx, strings.NewReader("probe\n"), probeBytes); err != nil {
		return err
	}
	return failure(ctx, "ping", s.upload(ctx, probeKey, staged, minio.PutObjectOptions{ContentType: "text/plain"}))
}

// Location returns a signed URL of a photo where photos are served by redirect, otherwise "".
func (s *S3) Location(ctx context.Context, method, name string) (string, error) {
	if !s.address.redirect {
		return "", nil
	}
	format, ok := photo.ParseName(name)
	if !ok {
		return "", ErrNotFound
	}
	if _, err := s.Stat(ctx, name); err != nil {
		return "", err
	}
	answer := url.Values{
		"response-content-type":        {format.ContentType()},
		"response-content-disposition": {disposition(name)},
		"response-cache-control":       {immutable},
	}
	signed, err := s.core.Presign(ctx, method, s.address.Bucket, keyOf(name), signedFor, answer)
	if err != nil {
		return "", failure(ctx, "sign the URL of "+name, err)
	}
	return signed.String(), nil
}

// S3Address names a bucket: s3://BUCKET?endpoint=URL&region=R[&path_style=true][&serve=proxy|redirect].
type S3Address struct {
	Bucket   string
	Endpoint *url.URL // scheme and host
	Region   string
	lookup   minio.BucketLookupType
	redirect bool // photos are served by redirect to signed URLs
}

var s3Parameters = []string{"endpoint", "region", "path_style", "serve"}

// ParseS3 reads the address of a bucket. Its error says what is wrong, for an operator.
func ParseS3(address string) (*S3Address, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, errors.New("must be s3://BUCKET?endpoint=URL&region=R")
	}
	if u.User != nil {
		return nil, errors.New("must not contain credentials: give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return nil, errors.New("must name a bucket alone, without a path")
	}
	if err := s3utils.CheckValidBucketNameStrict(u.Host); err != nil {
		return nil, fmt.Errorf("names no possible bucket: %w", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("has a query that cannot be read: escape & and % in its values")
	}
	for name, values := range query {
		if !slices.Contains(s3Parameters, name) || len(values) != 1 {
			return nil, fmt.Errorf("has the parameter %q, which it does not know or has twice; it takes %s",
				name, strings.Join(s3Parameters, ", "))
		}
	}
	a := &S3Address{Bucket: u.Host, Region: query.Get("region")}
	if a.Region == "" {
		return nil, errors.New("needs the parameter region; servers without regions take us-east-1")
	}
	if a.Endpoint, err = s3Endpoint(query.Get("endpoint")); err != nil {
		return nil, err
	}
	switch query.Get("path_style") {
	case "true":
		a.lookup = minio.BucketLookupPath
	case "false":
		a.lookup = minio.BucketLookupDNS
	case "": // by host name at the providers that are known to want it, otherwise by path
		a.lookup = minio.BucketLookupAuto
	default:
		return nil, errors.New("takes path_style=true or path_style=false")
	}
	switch query.Get("serve") {
	case "redirect":
		a.redirect = true
	case "", "proxy":
	default:
		return nil, errors.New("takes serve=proxy or serve=redirect")
	}
	return a, nil
}

func s3Endpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("needs the parameter endpoint, such as endpoint=https://s3.eu-central-1.amazonaws.com")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("takes as endpoint an http or https URL of a host and a port alone")
	}
	return u, nil
}
