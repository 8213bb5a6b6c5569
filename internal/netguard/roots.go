package netguard

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
)

// LoadCAs returns the system's CAs together with those in a PEM file.
func LoadCAs(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pem, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", file)
	}
	return pool, nil
}
