package redistest_test

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/redistest"
)

// client speaks Redis's line protocol: enough to see that a server is there and what it holds.
type client struct {
	connection net.Conn
	reader     *bufio.Reader
}

func dial(t *testing.T, address string) *client {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "redis" {
		t.Fatalf("URL %q: %v, want a redis:// URL", address, err)
	}
	connection, err := net.Dial("tcp", parsed.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	c := &client{connection, bufio.NewReader(connection)}
	password, _ := parsed.User.Password()
	if got := c.say(t, "AUTH "+password); got != "+OK" {
		t.Fatalf("AUTH: %s", got)
	}
	return c
}

func (c *client) say(t *testing.T, command string) string {
	t.Helper()
	if _, err := fmt.Fprintf(c.connection, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
	line, err := c.reader.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(line)
}

func TestStart_SeparateServers(t *testing.T) {
	first, second := dial(t, redistest.Start(t)), dial(t, redistest.Start(t))
	if got := first.say(t, "SET thing 1"); got != "+OK" {
		t.Fatalf("SET: %s", got)
	}
	if got := second.say(t, "EXISTS thing"); got != ":0" {
		t.Errorf("a key of one server shows in the other: %s", got)
	}
}

func TestServer_StopAndStart(t *testing.T) {
	server := redistest.New(t)
	address := server.URL()
	dial(t, address).say(t, "SET thing 1")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if connection, err := net.Dial("tcp", parsed.Host); err == nil {
		_ = connection.Close()
		t.Error("a stopped server accepts connections")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if server.URL() != address {
		t.Errorf("URL changed from %s to %s", address, server.URL())
	}
	if got := dial(t, address).say(t, "EXISTS thing"); got != ":0" {
		t.Errorf("the server kept a key over a restart: %s", got)
	}
	if err := server.Start(); err == nil {
		t.Error("a second Start of a running server succeeded")
	}
}
