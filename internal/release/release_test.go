package release

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/expect"
)

const root = "../.."

// TestLicences checks that everything that is linked into the program may be used as it is, and that the notice of a
// release names all of it with its licence.
func TestLicences(t *testing.T) {
	modules, err := Linked(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 20 {
		t.Fatalf("%d modules", len(modules))
	}
	for _, m := range modules {
		if m.Licence == "" || len(m.Texts) == 0 {
			t.Errorf("%s %s: its licence is not one of those that may be used", m.Path, m.Version)
		}
	}
	var notice bytes.Buffer
	if err := WriteNotice(&notice, root, modules); err != nil {
		t.Fatal(err)
	}
	text := notice.String()
	for _, m := range modules {
		if !strings.Contains(text, fmt.Sprintf("\n%s %s (%s)\n", m.Path, m.Version, m.Licence)) {
			t.Errorf("the notice does not name %s", m.Path)
		}
		for _, licence := range m.Texts {
			if strings.Count(text, licence) == 0 {
				t.Errorf("the notice does not repeat the licence of %s", m.Path)
			}
		}
	}
	if !strings.Contains(text, "SIL OPEN FONT LICENSE") {
		t.Error("the notice does not repeat the licence of the typeface")
	}
}

func TestClassify(t *testing.T) {
	expect.Results(t, classify, map[string]string{
		"Apache License\n Version 2.0, January 2004":                                         "Apache-2.0",
		"MIT License\n\nPermission is hereby granted, free of charge, to any":                "MIT",
		"Redistribution and use in source\nand binary forms … Neither the name of":           "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                                  "BSD-2-Clause",
		"GNU GENERAL PUBLIC LICENSE … Permission is hereby granted, free of charge":          "",
		"GNU LESSER GENERAL PUBLIC LICENSE":                                                  "",
		"Mozilla Public License Version 2.0":                                                 "",
		"All rights reserved.":                                                               "",
		"Permission to use, copy, modify, and/or distribute this software for any purpose x": "ISC",
	})
}

// TestNoSecrets checks that no file of the repository has a secret in it.
func TestNoSecrets(t *testing.T) {
	found, err := Scan(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// TestScanFinds checks that the search finds secrets of each kind, and takes no example for one.
func TestScanFinds(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	const random = "Zq7Wm2Xc9Vb4Nl6Kj8Hg1Fd3Sa5Po0Iu7Yt2Re4Wq"
	for kind, secret := range map[string]string{
		"API key":           access.NewSecretKey(access.Live),
		"desk token":        access.NewStaffToken(),
		"private key":       string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"AWS access key":    "AKIA" + strings.ToUpper(random[:16]),
		"GitHub token":      "ghp_" + random[:36],
		"GitLab token":      "glpat-" + random[:20],
		"Slack token":       "xoxb-" + random[:30],
		"Stripe key":        "sk_live_" + random[:24],
		"Google key":        "AIza" + random[:35],
		"npm or PyPI token": "npm_" + random[:36],
		"signed token":      "eyJ" + random[:20] + ".eyJ" + random[:20] + "." + random[:30],
	} {
		found := scanFile("x", []byte("first line\nkey = \""+secret+"\"\n"))
		if !slices.Contains(found, Finding{"x", 2, kind}) {
			t.Errorf("%s: %v", kind, found)
		}
	}
	for _, example := range []string{
		"assay_live_0123456789abcdefghijABCDEFGHIJ01234567", "AKIAIOSFODNN7EXAMPLE", "sk_live_000000000000000000000000",
		"-----BEGIN PRIVATE KEY-----\n…", "assay_live_…",
	} {
		if found := scanFile("x", []byte(example)); len(found) > 0 {
			t.Errorf("%s: %v", example, found)
		}
	}
}
