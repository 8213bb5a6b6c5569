package server

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/host"
	"golang.org/x/crypto/acme/autocert"
)

const (
	tlsCertFile    = "tls.crt"
	tlsKeyFile     = "tls.key"
	autocertFolder = "certificates"
	selfSigned     = 10 * 365 * 24 * time.Hour
)

// tlsConfig returns the certificates of the TLS listener: the given files, automatic ones for a domain, or a
// self-signed one that is kept in --data so that clients can trust it once. files is nil for automatic ones.
func (s *Settings) tlsConfig(
	now func() time.Time, log *slog.Logger,
) (config *tls.Config, files *certificateFiles, err error) {
	if s.TLSDomain != "" {
		m := &autocert.Manager{
			Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(s.TLSDomain),
			Cache: autocert.DirCache(filepath.Join(s.Data, autocertFolder)),
		}
		c := m.TLSConfig()
		c.MinVersion = tls.VersionTLS12
		return c, nil, nil
	}
	certFile, keyFile := s.TLSCert, s.TLSKey
	if certFile == "" {
		certFile, keyFile = filepath.Join(s.Data, tlsCertFile), filepath.Join(s.Data, tlsKeyFile)
		if err := s.ensureSelfSigned(certFile, keyFile, now()); err != nil {
			return nil, nil, fmt.Errorf("self-signed certificate: %w", err)
		}
	}
	if files, err = openCertificate(certFile, keyFile, now, log); err != nil {
		return nil, nil, fmt.Errorf("TLS certificate: %w", err)
	}
	return &tls.Config{
		GetCertificate: files.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}, files, nil
}

// When the files of a certificate are read again, and how long before its end that is said, and how often.
const (
	certificateInterval = time.Minute
	certificateEnds     = 14 * 24 * time.Hour
	certificateWarning  = 24 * time.Hour
)

// certificateFiles is a certificate in files that are read again, so that a renewal needs no restart.
type certificateFiles struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger
	inForce   atomic.Pointer[tls.Certificate]

	mu     sync.Mutex
	read   time.Time // when the files were read last
	failed bool      // they could not be used then
	warned time.Time // when the end of the certificate was told last
}

func openCertificate(cert, key string, now func() time.Time, log *slog.Logger) (*certificateFiles, error) {
	c := &certificateFiles{cert: cert, key: key, now: now, log: log, read: now()}
	first, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	c.inForce.Store(&first)
	c.warn()
	return c, nil
}

// get returns the certificate for a handshake. One handshake a minute reads the files before, and no other one waits
// for it: they may be on a disk that does not answer.
func (c *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.mu.TryLock() {
		defer c.mu.Unlock()
		if c.now().Sub(c.read).Abs() >= certificateInterval {
			c.reread()
		}
	}
	return c.inForce.Load(), nil
}

// look reads the files now.
func (c *certificateFiles) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reread()
}

// reread reads the files, which are perhaps being replaced: what cannot be used is read again by the next call. The
// caller holds the lock.
func (c *certificateFiles) reread() {
	c.read = c.now()
	found, err := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case err == nil && !slices.EqualFunc(found.Certificate, c.inForce.Load().Certificate, bytes.Equal):
		c.inForce.Store(&found)
		c.log.Info("a new certificate is in force", "file", c.cert, "ends", found.Leaf.NotAfter)
		c.warned = time.Time{}
	case err != nil && !c.failed:
		c.log.Error("the certificate cannot be read again: the former one stays in force", "file", c.cert, "error", err)
	}
	c.failed = err != nil
	c.warn()
}

// warn tells that the certificate has expired or soon will, once a day.
func (c *certificateFiles) warn() {
	now, ends := c.now(), c.inForce.Load().Leaf.NotAfter
	if ends.Sub(now) > certificateEnds || now.Sub(c.warned) < certificateWarning {
		return
	}
	c.warned = now
	if now.After(ends) {
		c.log.Warn("THE CERTIFICATE HAS EXPIRED: clients refuse it. Replace its files; a restart is not needed",
			"file", c.cert, "ended", ends)
	} else {
		c.log.Warn("THE CERTIFICATE ENDS SOON: replace its files; a restart is not needed", "file", c.cert, "ends", ends)
	}
}

// RereadCertificate reads the files of the certificate at once, where it is in files.
func (s *Server) RereadCertificate() {
	if s.certificate != nil {
		s.certificate.look()
	}
}

// ensureSelfSigned makes a certificate for the names that the settings use, unless there is one.
func (s *Settings) ensureSelfSigned(certFile, keyFile string, now time.Time) error {
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if host.Exists(certFile) {
		return fmt.Errorf("%s is missing: put it back, or delete %s to have both made again", keyFile, certFile)
	}
	key, err := ensureKey(keyFile)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Assay self-signed"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSigned),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, raw := range []string{s.PublicURL, s.MediaURL} {
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(u.Hostname()); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if u.Hostname() != "localhost" {
			template.DNSNames = append(template.DNSNames, u.Hostname())
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	err = writeOnce(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if errors.Is(err, fs.ErrExist) { // of another node, with the same key
		return nil
	}
	return err
}

// ensureKey returns the key in the file. It makes one where there is none: a start that was killed in between has left
// its key without a certificate.
func ensureKey(file string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	err = writeOnce(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return key, err
	}
	content, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no key in PEM form", file)
	}
	kept, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	signer, ok := kept.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds no key that can sign", file)
	}
	return signer, nil
}
