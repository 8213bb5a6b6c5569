package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// healthTimeout leaves /readyz the time of its checks.
const healthTimeout = 5 * time.Second

func healthcheckFlags(fs *flag.FlagSet, inv *invocation) {
	fs.BoolVar(&inv.ready, "ready", false, "ask /readyz instead of /healthz")
}

func healthcheck(ctx context.Context, inv *invocation) error {
	address, err := localAddress(inv.settings.OpsListen)
	if err != nil {
		return err
	}
	path := "/healthz"
	if inv.ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return err
	}
	var answer struct {
		Status string `json:"status"`
		Checks map[string]struct {
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		} `json:"checks"`
	}
	answer.Status = strings.TrimSpace(string(body))
	if inv.ready {
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("%s is no answer of /readyz: %w", address, err)
		}
	}
	if response.StatusCode == http.StatusOK {
		return inv.print(map[string]string{"status": answer.Status}, "%s\n", answer.Status)
	}
	problems := []error{fmt.Errorf("%s says %d %s", path, response.StatusCode, answer.Status)}
	var names []string
	for name, check := range answer.Checks {
		if !check.OK {
			names = append(names, name+": "+check.Error)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		problems = append(problems, errors.New(name))
	}
	return errors.Join(problems...)
}

// localAddress is where a listener of this machine is reached: one that listens on all addresses, at the loopback one.
func localAddress(listen string) (string, error) {
	if listen == "" {
		return "", errors.New("--ops-listen is off: there is nobody to ask")
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("--ops-listen: %w", err)
	}
	if port == "0" {
		return "", errors.New("--ops-listen has port 0: give the port that the server has told")
	}
	if host == "" {
		host = "127.0.0.1"
	} else if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}
