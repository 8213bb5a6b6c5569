package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/child"
)

// peer is a running PocketBase, of the module in the folder peer.
type peer struct{ *server }

const (
	recordsPath = "/api/collections/orders/records"
	peerRecords = 2_000 // to be viewed
)

// startPeer builds and starts PocketBase on an empty folder, until the end of the part.
func (s *suite) startPeer(ctx context.Context) (*peer, error) {
	root, err := moduleFolder(ctx)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(s.folder, "peer")
	if _, err := os.Stat(binary); err != nil {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
		cmd.Dir, cmd.Env = filepath.Join(root, "test/bench/peer"), append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build PocketBase: %w\n%s", err, output)
		}
	}
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(s.folder, "peer-")
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	running, err := startServer(ctx, exec.Command(binary, address, folder), filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	s.later(running.close)
	p := &peer{running}
	for deadline := time.Now().Add(20 * time.Second); ; { // it says that it listens just before it does
		if _, err = exchange(ctx, http.MethodGet, "http://"+address+"/api/health", nil, nil); err == nil {
			return p, nil
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// creations returns a load of creations of one record. It takes the draft of an order as Assay does.
func (p *peer) creations(drafts []client.CreateOrder) (*target, error) {
	bodies := make([][]byte, len(drafts))
	for i, draft := range drafts {
		var err error
		if bodies[i], err = json.Marshal(map[string]any{
			"account": "01a1e029-9323-77bb-91a4-8a6fe6a140eb", "environment": "live", "number": "AS" + unique[:10],
			"external_id": unique, "status": "queued", "category_code": draft.CategoryCode, "brand_code": draft.BrandCode,
			"model_code": draft.ModelCode, "answer_time": 1440, "price": 5, "photos": draft.Photos,
		}); err != nil {
			return nil, err
		}
	}
	return newTarget(p.server, http.MethodPost, []string{recordsPath}, jsonHeader(), bodies, http.StatusOK), nil
}

// peerViews starts PocketBase, creates records and returns a load of viewing them.
func (s *suite) peerViews(ctx context.Context) (*target, error) {
	p, err := s.startPeer(ctx)
	if err != nil {
		return nil, err
	}
	draft := client.CreateOrder{BrandCode: "chanel", CategoryCode: "bags"}
	for _, code := range requiredPhotos {
		draft.Photos = append(draft.Photos, client.OrderPhoto{
			URL: "https://localhost:8443/media/0123456789abcdef0123456789abcdef.jpg", IndexCode: code,
		})
	}
	create, err := p.creations([]client.CreateOrder{draft})
	if err != nil {
		return nil, err
	}
	paths := make([]string, peerRecords)
	for i := range paths {
		fresh := newPrepared(create.requests[0].text)
		body, err := p.createOne(ctx, fresh)
		if err != nil {
			return nil, err
		}
		var record struct{ ID string }
		if err := json.Unmarshal(body, &record); err != nil {
			return nil, err
		}
		paths[i] = recordsPath + "/" + record.ID
	}
	t := newTarget(p.server, http.MethodGet, paths, nil, nil, http.StatusOK)
	return t, t.learn(ctx)
}

// createOne sends a prepared request with a unique text.
func (p *peer) createOne(ctx context.Context, request prepared) ([]byte, error) {
	text, _ := request.fresh(nil)
	return exchange(ctx, http.MethodPost, "http://"+p.http+recordsPath, jsonHeader(), bodyOf(text))
}
