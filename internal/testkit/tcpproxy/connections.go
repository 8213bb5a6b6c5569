package tcpproxy

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// CountConnections counts the connections to a server that has not started yet, without a proxy in between.
func CountConnections(server *httptest.Server) *atomic.Int64 {
	connections := new(atomic.Int64)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	return connections
}

// StartTLS starts a server that speaks TLS, HTTP/2 as well, and counts its connections. It says nothing of those that
// fail.
func StartTLS(t testing.TB, handler http.HandlerFunc) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	connections := CountConnections(server)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, connections
}
