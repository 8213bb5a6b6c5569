package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/access"
)

// profile is where a developer's commands go, and with which key.
type profile struct {
	Server string `json:"server"`
	Key    string `json:"key"`
}

// profiles is the file that assay login writes, readable by its owner only.
type profiles struct {
	Profiles map[string]profile `json:"profiles"`
}

const (
	apiPrefix      = "/v1/integrations" // of the integration API on a server
	defaultServer  = "http://localhost:8080"
	defaultProfile = "default"
)

// remoteFlags are the flags of every command that calls the integration API.
func remoteFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.profile, "profile", defaultProfile, "`name` of the profile that assay login made")
}

func (inv *invocation) variable(name string) string {
	value, _ := inv.LookupEnv(name)
	return value
}

var errNoHome = errors.New("HOME is not set: name the file for profiles in ASSAY_CONFIG")

// profilePath is the file of the profiles: ASSAY_CONFIG, or config.json in the user's folder for settings.
func (inv *invocation) profilePath() (string, error) {
	if path := inv.variable("ASSAY_CONFIG"); path != "" {
		return path, nil
	}
	folder := inv.variable("XDG_CONFIG_HOME")
	if folder == "" {
		home := inv.variable("HOME")
		if home == "" {
			return "", errNoHome
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "assay", "config.json"), nil
}

func (inv *invocation) readProfiles() (*profiles, string, error) {
	all := &profiles{Profiles: map[string]profile{}}
	path, err := inv.profilePath()
	if err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) {
		return all, path, nil
	}
	if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(text, all); err != nil {
		return nil, "", fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if all.Profiles == nil { // the file says null
		all.Profiles = map[string]profile{}
	}
	return all, path, nil
}

// remote returns a client for the profile; ASSAY_SERVER and ASSAY_KEY win. answer holds the last body that came back.
func (inv *invocation) remote() (*client.Client, *lastAnswer, error) {
	p := profile{Server: inv.variable("ASSAY_SERVER"), Key: inv.variable("ASSAY_KEY")}
	if p.Server == "" || p.Key == "" {
		all, _, err := inv.readProfiles()
		if errors.Is(err, errNoHome) && p.Key != "" {
			all, err = new(profiles), nil // there is none, and none is needed
		}
		if err != nil {
			return nil, nil, err
		}
		kept := all.Profiles[inv.profile]
		if p.Key == "" {
			p.Key = kept.Key
		}
		if p.Server == "" {
			p.Server = kept.Server
		}
	}
	if p.Key == "" {
		return nil, nil, errors.New("no API key: run assay login, or set ASSAY_KEY")
	}
	if p.Server == "" {
		p.Server = defaultServer
	}
	inv.key = p.Key
	return p.client()
}

func (p profile) client() (*client.Client, *lastAnswer, error) {
	answer := &lastAnswer{transport: client.DefaultTransport()}
	server := strings.TrimSuffix(strings.TrimRight(p.Server, "/"), apiPrefix) // some give the base URL of the API
	c, err := client.New(server+apiPrefix, p.Key,
		client.WithHTTPClient(&http.Client{Transport: answer}), client.WithUserAgent("assay-cli/1"),
		client.WithResponseHook(answer.keepQuota))
	return c, answer, err
}

// lastAnswer keeps the body of the last answer, which --json prints as it came, and the quota that it tells of.
type lastAnswer struct {
	transport http.RoundTripper

	mu    sync.Mutex
	body  []byte
	quota client.RateLimit
}

// RoundTrip reads the whole answer and hands a copy on.
func (l *lastAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	err = errors.Join(err, response.Body.Close())
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.body = body
	l.mu.Unlock()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

func (l *lastAnswer) keepQuota(_ context.Context, r client.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quota = client.RateLimit{}
	if r.RateLimit != nil {
		l.quota = *r.RateLimit
	}
}

// halfUsed reports whether less than half of the quota is left.
func (l *lastAnswer) halfUsed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quota.Remaining < l.quota.Limit/2
}

// json returns the answer for print.
func (l *lastAnswer) json() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.body) == 0 {
		return json.RawMessage("{}")
	}
	return bytes.TrimSpace(l.body)
}

func loginFlags(fs *flag.FlagSet, inv *invocation) {
	remoteFlags(fs, inv)
	fs.StringVar(&inv.server, "server", "", "`URL` of the service (default ASSAY_SERVER, or "+defaultServer+")")
}

func login(ctx context.Context, inv *invocation) error {
	p := profile{Server: inv.server}
	if p.Server == "" {
		p.Server = inv.variable("ASSAY_SERVER")
	}
	if p.Server == "" {
		p.Server = defaultServer
	}
	variable := inv.variable("ASSAY_KEY")
	var err error
	if p.Key, err = inv.readKey(variable); err != nil {
		return err
	}
	all, path, err := inv.readProfiles()
	if err != nil {
		return err
	}
	c, _, err := p.client()
	if err != nil {
		return err
	}
	if _, err := c.GetBalance(ctx); err != nil {
		return fmt.Errorf("the key was not kept: %s", messageOf(err))
	}
	all.Profiles[inv.profile] = p
	if err := writePrivate(path, all); err != nil {
		return err
	}
	if variable != "" && variable != p.Key {
		fmt.Fprintln(inv.Stderr, "ASSAY_KEY is set to another key, which commands use instead of the kept one.")
	}
	environment, title := access.Live, "Live"
	if strings.HasPrefix(p.Key, "assay_test_") {
		environment, title = access.Test, "Test"
	}
	return inv.print(map[string]string{"profile": inv.profile, "server": p.Server, "environment": string(environment)},
		"profile %s: a %s key for %s, kept in %s\n", inv.profile, title, p.Server, path)
}

// readKey returns the key of a file that is standard input, or else the one of the variable. Without either it reads a
// line; at a terminal after a prompt and without showing what is typed. A pipe is not waited for where there is a
// variable: it may never end.
func (inv *invocation) readKey(variable string) (string, error) {
	f, isFile := inv.Stdin.(*os.File)
	if variable != "" && (!isFile || !isRegular(f)) {
		return variable, nil
	}
	if isFile && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(inv.Stderr, "API key: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(inv.Stderr)
		return strings.TrimSpace(string(text)), err
	}
	text, err := io.ReadAll(io.LimitReader(inv.Stdin, 4<<10))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if variable != "" && !strings.HasPrefix(key, "assay_") { // a file that has nothing to do with it
		return variable, nil
	}
	if key == "" {
		return "", errors.New("no API key on standard input")
	}
	return key, nil
}

func isRegular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// writePrivate replaces a file as a whole, readable by its owner only.
func writePrivate(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".config-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Clean(path))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
