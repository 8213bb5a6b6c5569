// Package device is a software authenticator for passkeys: it responds to WebAuthn challenges with real keys and
// signatures, in the form of a browser, and misbehaves if a test wants it to.
package device

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
)

// Device has passkeys. A copy has the same passkeys and its own counters.
type Device struct {
	Origin string // of the page that the browser shows
	RPID   string // the domain that the device signs for; empty: that of the challenge

	Unverified bool // no user verification
	Absent     bool // no user presence
	Synced     bool // its passkeys are synced
	Counts     bool // it has signature counters
	Forged     bool // it signs with another key

	passkeys []passkey
}

type passkey struct {
	id     []byte
	handle []byte // of the user
	rpID   string
	key    *ecdsa.PrivateKey
	count  uint32
}

// Copy returns a clone of the device, as an attacker would have it.
func (d *Device) Copy() *Device {
	c := *d
	c.passkeys = append([]passkey(nil), d.passkeys...)
	return &c
}

// bytesText is base64url-encoded in JSON.
type bytesText []byte

func (b *bytesText) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	*b = raw
	return err
}

func (b bytesText) MarshalJSON() ([]byte, error) {
	return json.Marshal(base64.RawURLEncoding.EncodeToString(b))
}

// CreationOptions are the options of navigator.credentials.create.
type CreationOptions struct {
	Challenge bytesText `json:"challenge"`
	RP        struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"rp"`
	User struct {
		ID   bytesText `json:"id"`
		Name string    `json:"name"`
	} `json:"user"`
	Exclude []struct {
		ID bytesText `json:"id"`
	} `json:"excludeCredentials"`
	Selection struct {
		ResidentKey      string `json:"residentKey"`
		UserVerification string `json:"userVerification"`
	} `json:"authenticatorSelection"`
	Attestation string `json:"attestation"`
}

// RequestOptions are the options of navigator.credentials.get.
type RequestOptions struct {
	Challenge        bytesText         `json:"challenge"`
	RPID             string            `json:"rpId"`
	Allow            []json.RawMessage `json:"allowCredentials"`
	UserVerification string            `json:"userVerification"`
}

type answer struct {
	ID         string         `json:"id"`
	RawID      bytesText      `json:"rawId"`
	Type       string         `json:"type"`
	Extensions map[string]any `json:"clientExtensionResults"`
	Response   any            `json:"response"`
}

func answerOf(t testing.TB, id []byte, response any) string {
	t.Helper()
	b, err := json.Marshal(answer{
		ID: base64.RawURLEncoding.EncodeToString(id), RawID: id, Type: "public-key", Extensions: map[string]any{},
		Response: response,
	})
	must.NoError(t, err)
	return string(b)
}

// Create creates a passkey and returns the browser's response. If the device has one of the excluded passkeys, the
// response is empty.
func (d *Device) Create(t testing.TB, options json.RawMessage) string {
	t.Helper()
	var asked CreationOptions
	must.NoError(t, json.Unmarshal(options, &asked))
	for _, e := range asked.Exclude {
		for _, k := range d.passkeys {
			if bytes.Equal(k.id, e.ID) {
				return ""
			}
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.NoError(t, err)
	k := passkey{id: make([]byte, 32), handle: asked.User.ID, rpID: asked.RP.ID, key: key}
	_, _ = rand.Read(k.id)
	if d.Counts {
		k.count = 1
	}
	public, err := key.PublicKey.Bytes() // 0x04, X, Y
	must.NoError(t, err)
	cose, err := webauthncbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: public[1:33], -3: public[33:]})
	must.NoError(t, err)
	attested := make([]byte, 16) // AAGUID of zeros
	attested = binary.BigEndian.AppendUint16(attested, uint16(len(k.id)))
	attested = append(append(attested, k.id...), cose...)
	data := append(d.authenticatorData(asked.RP.ID, 0x40, k.count), attested...)
	client := d.clientData(t, "webauthn.create", asked.Challenge)
	object, err := webauthncbor.Marshal(map[string]any{
		"fmt": "packed", "authData": data, "attStmt": map[string]any{"alg": -7, "sig": d.sign(t, key, data, client)},
	})
	must.NoError(t, err)
	d.passkeys = append(d.passkeys, k)
	return answerOf(t, k.id, map[string]any{
		"clientDataJSON":    bytesText(client),
		"attestationObject": bytesText(object),
		"transports":        []string{"internal", "hybrid", "by pigeon"},
	})
}

// Get signs the challenge with the newest passkey of the domain and returns the browser's response.
func (d *Device) Get(t testing.TB, options json.RawMessage) string {
	t.Helper()
	var asked RequestOptions
	must.NoError(t, json.Unmarshal(options, &asked))
	for i := len(d.passkeys) - 1; i >= 0; i-- {
		k := &d.passkeys[i]
		if k.rpID != asked.RPID {
			continue
		}
		if d.Counts {
			k.count++
		}
		data := d.authenticatorData(asked.RPID, 0, k.count)
		client := d.clientData(t, "webauthn.get", asked.Challenge)
		return answerOf(t, k.id, map[string]any{
			"clientDataJSON":    bytesText(client),
			"authenticatorData": bytesText(data),
			"signature":         bytesText(d.sign(t, k.key, data, client)),
			"userHandle":        bytesText(k.handle),
		})
	}
	t.Fatalf("the device has no passkey of %s", asked.RPID)
	return ""
}

// authenticatorData returns the authenticator data: relying party, flags and counter.
func (d *Device) authenticatorData(rpID string, flags byte, count uint32) []byte {
	if d.RPID != "" {
		rpID = d.RPID
	}
	if !d.Absent {
		flags |= 0x01
	}
	if !d.Unverified {
		flags |= 0x04
	}
	if d.Synced {
		flags |= 0x18
	}
	sum := sha256.Sum256([]byte(rpID))
	return binary.BigEndian.AppendUint32(append(sum[:], flags), count)
}

// clientData returns the client data JSON of the browser.
func (d *Device) clientData(t testing.TB, kind string, challenge []byte) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"type":        kind,
		"challenge":   bytesText(challenge),
		"origin":      d.Origin,
		"crossOrigin": false,
	})
	must.NoError(t, err)
	return b
}

func (d *Device) sign(t testing.TB, key *ecdsa.PrivateKey, data, client []byte) []byte {
	t.Helper()
	if d.Forged {
		var err error
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must.NoError(t, err)
	}
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(append(bytes.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	must.NoError(t, err)
	return signature
}
