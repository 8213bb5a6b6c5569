package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

const (
	flowName    = "Live order, from 3 fresh 12 MP photos to the webhook"
	flowClients = 4
	flowOrders  = 16 // of a round
	flowWait    = 2 * time.Minute
)

// flow measures whole orders: three photos of 12 megapixels that nobody has uploaded before, the creation, the claim
// and the verdict of a reviewer at the desk, the certificate, the signed webhook, and the images that the desk shows.
func flow(ctx context.Context, s *suite) error {
	inbox := s.newReceiver()
	settings, err := inbox.settings(s.folder)
	if err != nil {
		return err
	}
	shop, err := s.launchFresh(ctx, sqlite, settings...)
	if err != nil {
		return err
	}
	c, err := shop.client(shop.Accounts[0].Live)
	if err != nil {
		return err
	}
	hook, err := c.CreateWebhook(ctx, client.CreateWebhook{
		URL: inbox.URL + "/hook", Events: []client.WebhookEvent{client.EventOrderOutcome},
	})
	if err != nil {
		return err
	}
	inbox.secret = hook.SigningSecret
	photo, err := baselineJPEG(ctx, megapixels12)
	if err != nil {
		return err
	}
	f := &flowRun{shop: shop, client: c, inbox: inbox, photo: photo}
	orders := flowOrders
	if s.quick {
		orders = flowClients
	}
	var rates, work []float64
	for round := range s.rounds + 1 { // the first one is a warm-up
		one, err := f.round(ctx, orders)
		if err != nil {
			return err
		}
		if round > 0 {
			rates, work = append(rates, one.rate), append(work, microseconds(one.work))
		}
	}
	all := value(flowName, "orders/s", fmt.Sprintf("orders a second on %d cores", runtime.NumCPU()), rates, atLeast(3))
	all.Work = median(work)
	s.report.add(all)
	return nil
}

// flowRun is a running flow.
type flowRun struct {
	shop   *shop
	client *client.Client
	inbox  *receiver
	photo  []byte
	photos atomic.Int64 // uploaded so far
}

// round runs some orders and returns when their images are made, too.
func (f *flowRun) round(ctx context.Context, orders int) (sample, error) {
	before, err := processorTime(f.shop.server.process.PID())
	if err != nil {
		return sample{}, err
	}
	started := time.Now()
	var next atomic.Int64
	var clients errgroup.Group
	for range flowClients {
		clients.Go(func() error {
			for next.Add(1) <= int64(orders) {
				if err := f.order(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := errors.Join(clients.Wait(), f.inbox.refused, f.awaitImages(ctx)); err != nil {
		return sample{}, err
	}
	took := time.Since(started)
	after, err := processorTime(f.shop.server.process.PID())
	return sample{rate: float64(orders) / took.Seconds(), work: (after - before) / time.Duration(orders)}, err
}

// order takes one order from the photos to the webhook.
func (f *flowRun) order(ctx context.Context) error {
	files := make([]client.File, len(requiredPhotos))
	for i, code := range requiredPhotos {
		mark := fmt.Sprintf("photo %d", f.photos.Add(1))
		files[i] = client.File{Name: code + ".jpg", Content: bytes.NewReader(pictures.PadJPEG(f.photo, 0, mark))}
	}
	uploaded, err := f.client.UploadPhotos(ctx, files...)
	if err != nil {
		return err
	}
	draft := client.CreateOrder{BrandCode: "chanel", CategoryCode: "bags", ExternalID: freshUnique()}
	for i, code := range requiredPhotos {
		draft.Photos = append(draft.Photos, client.OrderPhoto{URL: uploaded[i].URL, IndexCode: code})
	}
	if _, err := f.client.CreateOrder(ctx, draft, client.WithIdempotencyKey(client.NewIdempotencyKey())); err != nil {
		return err
	}
	// A reviewer takes the next order, which may be another than this one.
	answer, err := exchange(ctx, http.MethodPost, f.shop.url(nextPath), f.shop.staffHeader(), nil)
	if err != nil {
		return err
	}
	var claimed struct{ ID string }
	if err := json.Unmarshal(answer, &claimed); err != nil {
		return err
	}
	told := f.inbox.await(claimed.ID)
	if _, err := exchange(ctx, http.MethodPost, f.shop.url("/v1/desk/orders/"+claimed.ID+"/complete"),
		f.shop.staffHeader(), []byte(verdict(0))); err != nil {
		return err
	}
	select {
	case <-told:
	case <-time.After(flowWait):
		return fmt.Errorf("the webhook of order %s did not arrive", claimed.ID)
	case <-ctx.Done():
		return ctx.Err()
	}
	detail, err := f.client.GetOrder(ctx, claimed.ID, client.LocaleEnglish)
	if err == nil && (!detail.HasOutcome(client.OutcomeAuthentic) || detail.CertificateURL == nil) {
		err = fmt.Errorf("order %s has no certificate", claimed.ID)
	}
	return err
}

// awaitImages waits until every uploaded photo has its thumbnail and its screen image.
func (f *flowRun) awaitImages(ctx context.Context) error {
	for deadline := time.Now().Add(flowWait); ; {
		made := int64(0)
		folder := filepath.Join(f.shop.folder, "data", "media")
		err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // a file that was being written has its final name by now
				return nil
			}
			if err == nil && media.IsDerived(e.Name()) && !strings.HasSuffix(e.Name(), ".full") {
				made++
			}
			return err
		})
		if err != nil {
			return err
		}
		if made >= 2*f.photos.Load() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d images were made", made, 2*f.photos.Load())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
