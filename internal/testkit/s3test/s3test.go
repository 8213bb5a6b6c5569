// Package s3test runs a real S3 server for tests: versitygw over a temporary folder, which tests stop and start again.
package s3test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
)

const (
	accessKey = "assay-tests"
	secretKey = "a secret that only tests may use"
	region    = "us-east-1"

	startLimit = time.Minute
)

// Server is an S3 server. Its methods are not safe for concurrent use, except Bucket.
type Server struct {
	program string
	folder  string
	port    int
	process *child.Process // nil: not running
	output  *child.Output
	buckets atomic.Int64
}

// Start starts a server with an empty folder until the test ends, and puts its credentials into the environment. The
// fast run skips the test.
func Start(t testing.TB) *Server {
	t.Helper()
	for name, value := range Credentials() {
		t.Setenv(name, value)
	}
	requires.Engine(t, "an S3 server")
	s, err := Launch(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill(t) })
	return s
}

// Launch starts a server over an empty folder. Close ends it.
func Launch(ctx context.Context, folder string) (*Server, error) {
	program, err := requires.FindTool("install-s3", "versitygw-*")
	if err != nil {
		return nil, err
	}
	s := &Server{program: program, folder: folder}
	for range 5 { // another process may take the port first
		if s.port, err = child.FreePort(); err != nil {
			return nil, err
		}
		if err = s.start(ctx); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// Credentials are the variables of the environment that let a program use the server.
func Credentials() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey}
}

func (s *Server) start(ctx context.Context) error {
	data, metadata := filepath.Join(s.folder, "data"), filepath.Join(s.folder, "metadata")
	for _, dir := range []string{data, metadata} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	// Metadata in files of their own: not every temporary folder has extended attributes.
	cmd := exec.Command(s.program, "--port", s.host(), "--region", region, "--quiet", "--keep-alive", "--health",
		"/health",
		"posix", "--sidecar", metadata, data)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	s.output = new(child.Output)
	cmd.Stdout, cmd.Stderr = s.output, s.output
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	s.process = process
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for !s.healthy(ctx) {
		select {
		case <-process.Done():
			s.process = nil
			return fmt.Errorf("the S3 server has ended:\n%s", s.output)
		case <-ctx.Done():
			return fmt.Errorf("the S3 server does not answer: %w\n%s", ctx.Err(), s.output)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (s *Server) host() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

func (s *Server) healthy(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.host()+"/health", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Kill ends the server as a crash does. What it has acknowledged stays.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	must.NoError(t, s.Close())
}

// Close ends the server, if it runs.
func (s *Server) Close() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-s.process.Done()
	s.process = nil
	return nil
}

// Signal sends a signal to the server, such as SIGSTOP.
func (s *Server) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	must.NoError(t, s.process.Signal(signal))
}

// Restart starts the server again after Kill, at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	must.NoError(t, s.start(t.Context()))
}

// Client returns a client of the server.
func (s *Server) Client(t testing.TB) *minio.Client {
	t.Helper()
	client, err := s.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// NewClient is Client outside of tests.
func (s *Server) NewClient() (*minio.Client, error) {
	return minio.New(s.host(), &minio.Options{
		Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: region, BucketLookup: minio.BucketLookupPath,
	})
}

// Bucket creates an empty bucket and returns its address for --media, with further parameters such as "serve=redirect".
func (s *Server) Bucket(t testing.TB, parameters ...string) string {
	t.Helper()
	_, address, err := s.NewBucket(t.Context(), parameters...)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// NewBucket is Bucket outside of tests.
func (s *Server) NewBucket(ctx context.Context, parameters ...string) (name, address string, err error) {
	client, err := s.NewClient()
	if err != nil {
		return "", "", err
	}
	name = "media-" + strconv.FormatInt(s.buckets.Add(1), 10)
	if err := client.MakeBucket(ctx, name, minio.MakeBucketOptions{Region: region}); err != nil {
		return "", "", err
	}
	address = "s3://" + name + "?endpoint=" + url.QueryEscape("http://"+s.host()) + "&region=" + region +
		"&path_style=true"
	return name, strings.Join(append([]string{address}, parameters...), "&"), nil
}

// BucketName returns the bucket of an address.
func BucketName(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
