package child

import (
	"fmt"
	"net"
)

// FreePort returns a TCP port of 127.0.0.1 that was free a moment ago, for servers that cannot choose one. Another
// process may take it first: be ready to retry.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("look for a free port: %w", err)
	}
	defer listener.Close()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("look for a free port: unexpected address %v", listener.Addr())
	}
	return address.Port, nil
}
