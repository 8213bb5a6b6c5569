package child

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports of servers are below those that systems choose by themselves, from 32768 on: a server that is started again
// finds its port as it was, however many listeners others have opened meanwhile.
const (
	lowestPort   = 20000
	highestPort  = 32767
	portAttempts = 1000
)

// reservations are the sockets of UDP at the ports that this process has been given. Whoever else looks for a port
// meets them; servers of TCP do not.
var reservations struct {
	mu   sync.Mutex
	held []net.PacketConn // until the process ends
}

// FreePort returns a TCP port of 127.0.0.1 that is free, for servers that cannot choose one, or that are started again
// where they were. Until this process ends nobody else gets it here. A process that does not ask here may take it
// first: be ready to retry.
func FreePort() (int, error) {
	for range portAttempts {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		reservation, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = reservation.Close()
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("look for a free port: %w", err)
		}
		reservations.mu.Lock()
		reservations.held = append(reservations.held, reservation)
		reservations.mu.Unlock()
		return port, nil
	}
	return 0, errors.New("look for a free port: there is none")
}
