package portal

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	receiver "github.com/assayhq/assay/internal/pages/portal/snippets"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// missing is the value of a header that a request does not have. Programs get what the frameworks of their language
// say of it, null or something of the kind; in Go it is empty.
const missing = "missing"

// drivers call the function of a snippet with what stands in the environment and print what it says.
var drivers = map[string]struct {
	program string
	debian  string // the package that it is in
	code    string
}{
	"verify.ts": {"node", "nodejs", `
const e = process.env;
console.log(verify(e.SECRET, e.TIMESTAMP, e.SIGNATURE, Buffer.from(e.BODY), Number(e.NOW)));`},
	"verify.py": {"python3", "python3", `
import os
e = os.environ
print(str(verify(e["SECRET"], e.get("TIMESTAMP"), e.get("SIGNATURE"), e["BODY"].encode(), float(e["NOW"]))).lower())`},
	"verify.php": {"php", "php-cli", `
$e = getenv() + ['TIMESTAMP' => null, 'SIGNATURE' => null];
echo verify($e['SECRET'], $e['TIMESTAMP'], $e['SIGNATURE'], $e['BODY'], (int) $e['NOW']) ? 'true' : 'false';`},
	"verify.rb": {"ruby", "ruby", `
puts verify(ENV["SECRET"], ENV["TIMESTAMP"], ENV["SIGNATURE"], ENV["BODY"].b, ENV["NOW"].to_i)`},
}

// types are the annotations of the TypeScript snippet: not every Node reads past them.
var types = regexp.MustCompile(`: (string|number|boolean|Buffer)( \| undefined)?\b`)

// runSnippet returns the snippet as a function that its language runs.
func runSnippet(t *testing.T, s snippet) func(secret, timestamp, signature, body string, now int64) bool {
	t.Helper()
	if s.File == "verify.go" {
		return func(secret, timestamp, signature, body string, now int64) bool {
			header := func(value string) string { return strings.TrimPrefix(value, missing) }
			return receiver.Verify(secret, header(timestamp), header(signature), []byte(body), time.Unix(now, 0))
		}
	}
	d := drivers[s.File]
	program := requires.Program(t, d.debian, d.program)
	code, err := s.Code()
	if err != nil {
		t.Fatal(err)
	}
	name := s.File
	if s.File == "verify.ts" {
		code, name = types.ReplaceAllString(code, ""), "verify.mjs"
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(code+d.code), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(secret, timestamp, signature, body string, now int64) bool {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, file)
		cmd.Env = append(os.Environ(), "SECRET="+secret, "BODY="+body, "NOW="+strconv.FormatInt(now, 10))
		if timestamp != missing {
			cmd.Env = append(cmd.Env, "TIMESTAMP="+timestamp)
		}
		if signature != missing {
			cmd.Env = append(cmd.Env, "SIGNATURE="+signature)
		}
		var errors bytes.Buffer
		cmd.Stderr = &errors
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.Language, err, errors.String())
		}
		said := strings.TrimSpace(string(out))
		if said != "true" && said != "false" { // a snippet that does not run must not pass for one that refuses
			t.Fatalf("%s says %q\n%s", s.Language, said, errors.String())
		}
		return said == "true"
	}
}

func TestSnippets(t *testing.T) {
	const now = 1_760_000_000
	secret, body := webhook.NewSigningSecret(), `{"webhook_event":"order-outcome","outcome_locale":"真正品"}`
	stamp := strconv.Itoa(now)
	good := webhook.NewSigner(secret).Sign(now, []byte(body))
	for _, s := range snippets {
		t.Run(s.Language, func(t *testing.T) {
			verify := runSnippet(t, s)
			for _, c := range []struct {
				name, secret, timestamp, signature, body string
				now                                      int64
				want                                     bool
			}{
				{"Good", secret, stamp, good, body, now, true},
				{"FiveMinutesOld", secret, stamp, good, body, now + 300, true},
				{"Old", secret, stamp, good, body, now + 301, false},
				{"FromTheFuture", secret, stamp, good, body, now - 301, false},
				{"OtherBody", secret, stamp, good, body + " ", now, false},
				{"OtherSecret", webhook.NewSigningSecret(), stamp, good, body, now, false},
				{"EmptySecret", "", stamp, webhook.NewSigner("").Sign(now, []byte(body)), body, now, false},
				{"OtherTimestamp", secret, strconv.Itoa(now + 1), good, body, now, false},
				{"WithoutVersion", secret, stamp, strings.TrimPrefix(good, "v1="), body, now, false},
				{"EmptySignature", secret, stamp, "", body, now, false},
				{"NoSignature", secret, stamp, missing, body, now, false},
				{"SignatureOfOtherLetters", secret, stamp, good[:len(good)-1] + "é", body, now, false},
				{"SignatureOfOtherBytes", secret, stamp, good[:len(good)-1] + "\xff", body, now, false},
				{"EmptyTimestamp", secret, "", good, body, now, false},
				{"NoTimestamp", secret, missing, good, body, now, false},
				{"NoNumber", secret, "now", good, body, now, false},
				{"OtherDigits", secret, "²", good, body, now, false},
				{"TimestampOfOtherBytes", secret, "\xb2", good, body, now, false},
				{"EndlessTimestamp", secret, strings.Repeat("9", 9999), good, body, now, false},
			} {
				if got := verify(c.secret, c.timestamp, c.signature, c.body, c.now); got != c.want {
					t.Errorf("%s: %v, want %v", c.name, got, c.want)
				}
			}
		})
	}
}
