package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/crowd"
	"golang.org/x/sync/errgroup"
)

// batch is the number of orders that the program itself makes; all others are copies of these.
const batch = 1_000

// fillVersion is changed with the filler, so that databases of before are not used again.
const fillVersion = "4"

// stock describes a filled installation.
type stock struct {
	name    string // the cached ones of the same name and size are the same
	orders  int    // a multiple of batch
	queued  int    // of each batch
	waiting int    // for photos, of each batch; the rest has ended
	events  int    // of the audit log
}

// mostlyEnded is what an installation looks like that works well.
func mostlyEnded(orders int) stock {
	return stock{name: "ended", orders: orders, queued: batch / 100, waiting: batch / 100}
}

// copied is the number of orders up to which a run gets its own copy of a cached database. Larger ones are used where
// they are: what a run adds to them does not matter for their size.
const copied = 1_000_000

// filled returns an installation with orders. SQLite databases are kept in the cache and used again.
func (s *suite) filled(ctx context.Context, e engine, w stock) (*installation, error) {
	if e == postgres {
		i, err := s.install(ctx, e, 1)
		if err != nil {
			return nil, err
		}
		return i, i.fill(ctx, w)
	}
	version, err := schemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.forgetOthers(version); err != nil {
		return nil, err
	}
	folder := filepath.Join(s.cache, version, fmt.Sprintf("%s-%d", w.name, w.orders))
	notes := filepath.Join(folder, "known.json")
	i := &installation{suite: s, folder: folder}
	s.later(i.remove)
	if text, err := os.ReadFile(notes); err == nil {
		if err := json.Unmarshal(text, &i.known); err != nil {
			return nil, err
		}
		return i, i.takeCopy(ctx)
	}
	fresh, err := s.install(ctx, e, 1)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := fresh.fill(ctx, w); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "        filled %s with %d orders in %s\n", e, w.orders, time.Since(began).Round(time.Second))
	i.known = fresh.known
	text, err := json.Marshal(i.known)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(filepath.Dir(folder), 0o700),
		run(ctx, "mv", fresh.folder, folder),
		os.WriteFile(notes, text, 0o600)); err != nil { // the notes last: without them the folder is made again
		return nil, err
	}
	return i, i.takeCopy(ctx)
}

// forgetOthers removes cached databases of other versions of the schema: one of ten million orders has over 20 GB.
func (s *suite) forgetOthers(version string) error {
	kept, err := filepath.Glob(filepath.Join(s.cache, strings.Repeat("[0-9a-f]", 12)))
	for _, folder := range kept {
		if filepath.Base(folder) != version {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}
	return err
}

// takeCopy makes a cached installation one that may be changed.
func (i *installation) takeCopy(ctx context.Context) error {
	if i.Orders > copied {
		return nil
	}
	folder, err := os.MkdirTemp(i.suite.folder, "installation-")
	if err != nil {
		return err
	}
	cached := i.folder
	i.folder = folder
	return run(ctx, "cp", "-r", "--reflink=auto", cached+"/.", folder)
}

// run runs a program for its effect.
func run(ctx context.Context, name string, arguments ...string) error {
	if output, err := exec.CommandContext(ctx, name, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return nil
}

// schemaVersion changes with the database's schema and with the filler.
func schemaVersion(ctx context.Context) (string, error) {
	root, err := moduleFolder(ctx)
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(root, "internal/store/schema/migrations/*.sql"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write([]byte(fillVersion))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

func moduleFolder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/assayhq/assay").Output()
	return strings.TrimSpace(string(out)), err
}

// fill makes a batch of orders through the APIs and copies it.
func (i *installation) fill(ctx context.Context, w stock) error {
	if err := i.batch(ctx, w); err != nil {
		return fmt.Errorf("the first orders: %w", err)
	}
	c := crowd.Copies{
		Target: i.target(), AccountID: i.Accounts[0].ID, Orders: batch, Copies: w.orders/batch - 1, Events: w.events,
	}
	i.Orders = w.orders
	if err := c.Multiply(ctx); err != nil {
		return err
	}
	return i.catchUp(ctx)
}

// batch creates the orders that are copied, and lets a reviewer end most of them.
func (i *installation) batch(ctx context.Context, w stock) (err error) {
	s, err := i.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.server.close()) }()
	drafts, err := s.drafts(ctx, 0, 20)
	if err != nil {
		return err
	}
	c, err := s.client(i.Accounts[0].Live)
	if err != nil {
		return err
	}
	i.Template = make([]string, batch)
	i.Judged = batch - w.queued - w.waiting
	return errors.Join(concurrently(batch, func(n int) error {
		draft := drafts[n%len(drafts)]
		draft.ExternalID = fmt.Sprintf("SKU-%06d", n)
		created, err := c.CreateOrder(ctx, draft)
		if err == nil {
			i.Template[n] = created.ID
		}
		return err
	}), concurrently(batch-w.queued, func(n int) error {
		return s.judge(ctx, i.Template[n], n, n >= i.Judged)
	}))
}

// concurrently calls f for 0 to n-1 with some clients.
func concurrently(n int, f func(int) error) error {
	var next atomic.Int64
	var clients errgroup.Group
	for range 16 {
		clients.Go(func() error {
			for {
				k := int(next.Add(1)) - 1
				if k >= n {
					return nil
				}
				if err := f(k); err != nil {
					return err
				}
			}
		})
	}
	return clients.Wait()
}

// judge claims an order and gives its verdict, or asks for a photo.
func (s *shop) judge(ctx context.Context, id string, n int, ask bool) error {
	path := s.url("/v1/desk/orders/" + id)
	if _, err := exchange(ctx, http.MethodPost, path+"/claim", s.staffHeader(), nil); err != nil {
		return err
	}
	move, body := "/complete", verdict(n)
	if ask {
		move, body = "/request_photos", `{"photos":[{"index_code":"logo","condition":"missing"}]}`
	}
	_, err := exchange(ctx, http.MethodPost, path+move, s.staffHeader(), []byte(body))
	return err
}

// verdict returns the body of the n-th verdict. Its reason differs in each copy of the order.
func verdict(n int) string {
	reason := fmt.Sprintf(`"reason_text":{"en":"Seal %s-%d.","ja":"シール %s-%d。"}`, crowd.Mark, n, crowd.Mark, n)
	switch n % 10 {
	case 0: // each of these has a certificate, which takes more room than the order
		return `{"outcome":"authentic","reason_codes":["stitching-consistent"],` + reason + `}`
	case 2:
		return `{"outcome":"unable-to-verify","reason_codes":["photos-insufficient"]}`
	}
	return `{"outcome":"fake","reason_codes":["logo-misaligned"],` + reason + `}`
}

// ids returns the ids of orders that are authentic or fake, and so differ in their facts, spread over all copies.
func (i *installation) ids(count int) []string {
	copies := i.Orders / batch
	all := make([]string, count)
	for n := range all {
		of := n * 7919 % i.Judged
		if of%10 == 2 { // unable-to-verify
			of++
		}
		id := i.Template[of]
		if k := n * 104_729 % copies; k > 0 {
			id = crowd.ID(id, k)
		}
		all[n] = id
	}
	return all
}

// drafts uploads photos for some different orders of an account, and returns the orders.
func (s *shop) drafts(ctx context.Context, account, count int) ([]client.CreateOrder, error) {
	c, err := s.client(s.Accounts[account].Live)
	if err != nil {
		return nil, err
	}
	all := make([]client.CreateOrder, count)
	return all, concurrently(count, func(n int) error {
		all[n] = client.CreateOrder{BrandCode: "chanel", CategoryCode: "bags"}
		var files []client.File
		for _, code := range requiredPhotos {
			photo := smallPhoto(fmt.Sprintf("%d %d %s", account, n, code))
			files = append(files, client.File{Name: code + ".png", Content: photo})
		}
		results, err := c.UploadPhotos(ctx, files...)
		if err != nil {
			return err
		}
		for k, code := range requiredPhotos {
			all[n].Photos = append(all[n].Photos, client.OrderPhoto{URL: results[k].URL, IndexCode: code})
		}
		return nil
	})
}
