package access_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
)

func TestNewRelyingParty(t *testing.T) {
	for address, want := range map[string]access.RelyingParty{
		"https://assay.example":               {ID: "assay.example", Origin: "https://assay.example"},
		"https://Assay.Example/":              {ID: "assay.example", Origin: "https://assay.example"},
		"https://assay.example:443/x":         {ID: "assay.example", Origin: "https://assay.example"},
		"https://assay.example:8443":          {ID: "assay.example", Origin: "https://assay.example:8443"},
		"https://xn--bcher-kva.example":       {ID: "xn--bcher-kva.example", Origin: "https://xn--bcher-kva.example"},
		"https://intranet":                    {ID: "intranet", Origin: "https://intranet"},
		"https://9.example":                   {ID: "9.example", Origin: "https://9.example"},
		"http://localhost:8080":               {ID: "localhost", Origin: "http://localhost:8080"},
		"http://localhost:80":                 {ID: "localhost", Origin: "http://localhost"},
		"https://localhost:8443":              {ID: "localhost", Origin: "https://localhost:8443"},
		"http://portal.localhost":             {ID: "portal.localhost", Origin: "http://portal.localhost"},
		"http://assay.example":                {}, // not a secure connection
		"http://notlocalhost":                 {},
		"http://127.0.0.1:8080":               {},
		"https://192.0.2.1":                   {},
		"https://[2001:db8::1]:8443":          {},
		"https://0x7f.1":                      {}, // an address to a browser
		"https://1.2.3":                       {},
		"https://":                            {},
		"https://assay..example":              {},
		"https://assay.example.":              {},
		"https://-assay.example":              {},
		"https://a_b.example":                 {},
		"https://bücher.example":              {},
		"ftp://assay.example":                 {},
		"assay.example":                       {},
		"https://assay.example:x":             {},
		"https://user:password@assay.example": {ID: "assay.example", Origin: "https://assay.example"},
	} {
		got, ok := access.NewRelyingParty(address)
		if got != want || ok != (want.ID != "") {
			t.Errorf("%s: %+v, %v, want %+v", address, got, ok, want)
		}
	}
}
