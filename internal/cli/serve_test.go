package cli_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/cli"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestServe_HangUp checks that SIGHUP has a server read its certificate at once, and does not end it.
func TestServe_HangUp(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	renew := func() *x509.Certificate {
		t.Helper()
		made, certificate := must.SelfSigned(t, net.IPv4(127, 0, 0, 1))
		key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
		must.NoError(t, err)
		must.NoError(t, os.WriteFile(certFile, certificate, 0o600))
		must.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
		parsed, err := x509.ParseCertificate(made.Certificate[0])
		must.NoError(t, err)
		return parsed
	}
	first := renew()
	s := program.Start(t, program.Settings{"tls-cert": certFile, "tls-key": keyFile})
	served := func() *x509.Certificate {
		t.Helper()
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		c, err := dialer.DialContext(t.Context(), "tcp", s.TLS)
		must.NoError(t, err)
		defer c.Close()
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0]
	}
	if !served().Equal(first) {
		t.Error("another certificate is served than the given one")
	}
	second := renew()
	s.Signal(t, syscall.SIGHUP)
	must.Eventually(t, time.Minute, "the second certificate is served", func() bool { return served().Equal(second) })
	if code := s.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestServe_NobodyReadsTheLog checks that a server goes on when its log is a pipe whose reader has ended.
func TestServe_NobodyReadsTheLog(t *testing.T) {
	read, write, err := os.Pipe()
	must.NoError(t, err)
	cmd := exec.Command(program.Build(t), "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--tls-listen", "",
		"--ops-listen", "")
	cmd.Stderr = write
	process, err := child.Start(cmd, syscall.SIGKILL)
	must.NoError(t, err)
	t.Cleanup(func() {
		must.NoError(t, process.Signal(syscall.SIGKILL))
		<-process.Done()
	})
	must.NoError(t, write.Close())
	log := bufio.NewReader(read)
	for line := ""; !strings.HasPrefix(line, "listening "); {
		line, err = log.ReadString('\n')
		must.NoError(t, err)
	}
	must.NoError(t, read.Close())
	must.NoError(t, process.Signal(syscall.SIGTERM)) // which it logs
	if code := process.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestServe_UnknownVariables checks that a start tells of variables that look like settings and are none, without their
// values, and not of those that others read.
func TestServe_UnknownVariables(t *testing.T) {
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	log := &untilReady{end: end}
	code := cli.Run(ctx, []string{
		"serve", "--data", t.TempDir(), "--tls-listen", "", "--listen", "127.0.0.1:0", "--ops-listen", "",
	}, cli.IO{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: log,
		LookupEnv: func(string) (string, bool) { return "", false },
		Environ: func() []string {
			return []string{
				"HOME=/", "ASSAY_PUBLIC_ULR=secret", "ASSAY_DEMO=secret", "ASSAY_COLOUR=secret", "ASSAY_DATABASE_FILE=x",
				"ASSAY_PUBLIC_URL=x", "ASSAY_KEY=x", "ASSAY_SERVER=x", "ASSAY_CONFIG=x", "ASSAY_TEST_BINARY=x",
				"ASSAY_SERVICE_HOST=10.0.0.1", "ASSAY_SERVICE_PORT_HTTP=8080", "ASSAY_PORT=tcp://10.0.0.1:8080",
				"ASSAY_PORT_8080_TCP_ADDR=10.0.0.1", "ASSAY_WEB_SERVICE_HOST=10.0.0.2", "ASSAY_WEB_PORT=tcp://10.0.0.2:80",
			}
		},
	})
	const want = `"level":"WARN","msg":"UNKNOWN VARIABLES: no setting has these names, so they change nothing",` +
		`"names":["ASSAY_COLOUR","ASSAY_DEMO (--demo?)","ASSAY_PUBLIC_ULR (--public-url?)"]`
	if got := log.String(); code != 0 || strings.Count(got, want) != 1 || strings.Contains(got, "secret") {
		t.Errorf("status %d, says %s", code, got)
	}
}
