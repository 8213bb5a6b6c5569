package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"
)

// argon2id with the parameters that OWASP recommends for 19 MiB. They are stored with each hash, so that they can
// be raised later.
const (
	argonMemory  = 19 * 1024
	argonTime    = 2
	argonThreads = 1
	argonLength  = 32
	saltLength   = 16
)

// hashing limits concurrent hashes: each takes 19 MiB and a core, and can be requested without signing in.
var hashing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// NewPassword returns a random password that is easy to type: about 119 bits.
func NewPassword() string { return randomBase62(20) }

// HashPassword returns the stored form of a password.
func HashPassword(password string) string {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt)
	hash, _ := derive(context.Background(), password, salt, argonTime, argonMemory, argonThreads)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt),
		base64.RawStdEncoding.EncodeToString(hash))
}

// VerifyPassword reports whether the password is the one behind the hash, in constant time for a given hash. The end of
// ctx ends the wait for its turn: nobody waits behind those who have gone.
func VerifyPassword(ctx context.Context, hash, password string) (bool, error) {
	fields := strings.Split(hash, "$")
	if len(fields) != 6 || fields[1] != "argon2id" {
		return false, errors.New("password hash has an unknown form")
	}
	var version int
	var memory, time uint32
	var threads uint8
	if _, err := fmt.Sscanf(fields[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errors.New("password hash has an unknown version")
	}
	if _, err := fmt.Sscanf(fields[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil {
		return false, errors.New("password hash has unknown parameters")
	}
	salt, err := base64.RawStdEncoding.DecodeString(fields[4])
	if err != nil {
		return false, errors.New("password hash has a broken salt")
	}
	want, err := base64.RawStdEncoding.DecodeString(fields[5])
	if err != nil || len(want) != argonLength {
		return false, errors.New("password hash is broken")
	}
	got, err := derive(ctx, password, salt, time, memory, threads)
	return subtle.ConstantTimeCompare(want, got) == 1, err
}

func derive(
	ctx context.Context, password string, salt []byte, time, memory uint32, threads uint8,
) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case hashing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, time, memory, threads, argonLength), nil
}
