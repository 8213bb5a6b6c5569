package server

import (
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
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
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
// self-signed one that is kept in --data so that clients can trust it once.
func (s *Settings) tlsConfig(now time.Time) (*tls.Config, error) {
	if s.TLSDomain != "" {
		m := &autocert.Manager{
			Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(s.TLSDomain),
			Cache: autocert.DirCache(filepath.Join(s.Data, autocertFolder)),
		}
		c := m.TLSConfig()
		c.MinVersion = tls.VersionTLS12
		return c, nil
	}
	certFile, keyFile := s.TLSCert, s.TLSKey
	if certFile == "" {
		certFile, keyFile = filepath.Join(s.Data, tlsCertFile), filepath.Join(s.Data, tlsKeyFile)
		if err := s.ensureSelfSigned(certFile, keyFile, now); err != nil {
			return nil, fmt.Errorf("self-signed certificate: %w", err)
		}
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}, nil
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
