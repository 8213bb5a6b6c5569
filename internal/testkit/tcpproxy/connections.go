package tcpproxy

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
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
