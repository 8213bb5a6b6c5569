package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/progresstest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/google/uuid"
)

// files returns the files of the media folder, without those that are being received.
func files(t *testing.T, s *shop.Shop) (n int) {
	t.Helper()
	must.NoError(t, filepath.WalkDir(s.MediaDir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	}))
	return n
}

func holds(t *testing.T, s *shop.Shop, when string) {
	t.Helper()
	o := s.Proof()
	o.Deep = true
	r, err := proof.Check(t.Context(), o)
	must.NoError(t, err)
	if !r.OK {
		t.Fatalf("%s: %+v", when, r.Problems)
	}
}

// found returns the tables of the database that contain a word.
func found(t *testing.T, s *shop.Shop, word string) (in []string) {
	t.Helper()
	for table, columns := range map[string]string{
		"accounts": "name", "users": "email || password_hash", "api_keys": "name",
		"orders":       "COALESCE(external_id, '') || facts || creation",
		"order_events": "actor_name || details", "order_notes": "note", "photos": "original_name",
		"audit_events":  "actor_name || COALESCE(ip, '') || COALESCE(user_agent, '') || metadata",
		"staff_actions": "target_name || details", "deliveries": "body", "events": "body", "links": "email",
		"idempotency_keys": "answer", "catalog_versions": "document", "catalog_drafts": "document",
	} {
		text := "SELECT COUNT(*) FROM " + table + " WHERE " + columns + " LIKE '%" + word + "%'"
		if n := rawsql.Rows(t, s.Target, text)[0][0]; n != "0" {
			in = append(in, table)
		}
	}
	return in
}

func TestErase(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		s.Trade(t)
		id := s.Order(t, s.Test, order.MockAuthentic)
		rawsql.Exec(t, target, "UPDATE orders SET external_id = 'Jane Doe'")
		rawsql.Exec(t, target, "UPDATE photos SET original_name = 'Jane Doe.jpg'")
		rawsql.Exec(t, target, `UPDATE order_events SET details = '{"outcome":"fake","note":"Jane Doe"}'
			WHERE event = 'completed' AND details LIKE '%fake%'`)
		s.Photo(t, s.Live) // of no order
		doc, err := s.Service.CatalogDocument(ctx)
		must.NoError(t, err)
		plain, err := doc.YAML()
		must.NoError(t, err)
		agreed := fmt.Appendf(plain, "account_prices: [{account: %q, code: %d, price: 1}]\n", s.Account.Name,
			doc.AnswerTimes[0].Code)
		_, err = s.Service.ImportCatalog(ctx, access.System, agreed)
		must.NoError(t, err)
		boss, err := s.Service.CreateStaff(ctx, access.Operator, "boss@assay.example", "Boss", access.Admin)
		must.NoError(t, err)
		_, err = s.Service.UploadCatalog(ctx, boss.Staff.Actor(access.Origin{}), "c.yaml", agreed)
		must.NoError(t, err)
		holds(t, s, "before")

		t.Run("OpenOrdersStay", func(t *testing.T) {
			_, err := s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false)
			if fault.CodeOf(err) != "orders-open" {
				t.Errorf("an account with open orders: %v", err)
			}
			open := rawsql.Rows(t, target, "SELECT id FROM orders WHERE environment = 'live' AND ended_at IS NULL")[0][0]
			if _, err := s.Service.EraseOrder(ctx, access.Operator, open, false); fault.CodeOf(err) != "orders-open" {
				t.Errorf("an open order: %v", err)
			}
			_, err = s.Service.EraseOrder(ctx, access.Operator, "0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30", false)
			if fault.CodeOf(err) != "not-found" {
				t.Errorf("no order: %v", err)
			}
			_, err = s.Service.CancelOrder(ctx, access.System, open, "withdrawn")
			must.NoError(t, err)
		})
		t.Run("DryRun", func(t *testing.T) {
			before, named := files(t, s), len(found(t, s, "Jane Doe"))
			told := &progresstest.Recorder{}
			r, err := s.Service.EraseAccount(told.Context(ctx), access.Operator, s.Account.ID, true)
			must.NoError(t, err)
			told.WantDone(t, "kept catalogs", "orders with their photos")
			if !r.DryRun || r.Orders != 9 || r.Photos < 10 || r.Bytes == 0 || r.Rows["users"] != 1 || len(r.Stays) < 5 {
				t.Errorf("the report is %+v", r)
			}
			if files(t, s) != before || named == 0 || len(found(t, s, "Jane Doe")) != named {
				t.Error("a dry run has erased something")
			}
		})
		t.Run("Order", func(t *testing.T) {
			before := files(t, s)
			r, err := s.Service.EraseOrder(ctx, access.Operator, id, false)
			must.NoError(t, err)
			if r.OrderID != id || r.Orders != 1 || r.Photos != 1 || r.Rows["external_ids"] != 1 || files(t, s) != before-1 {
				t.Errorf("the report is %+v, %d files of %d are left", r, files(t, s), before)
			}
			o, err := s.Store.Order(ctx, id)
			must.NoError(t, err)
			if o.ExternalID != nil || o.Outcome != order.Authentic || o.CertificateID == "" {
				t.Errorf("the order is %+v", o)
			}
			holds(t, s, "after an order")
			r, err = s.Service.EraseOrder(ctx, access.Operator, strings.ToUpper(id), false)
			if err != nil || r.Photos != 0 {
				t.Errorf("again: %+v, %v", r, err)
			}
		})
		t.Run("Account", func(t *testing.T) {
			heads, err := s.Store.LogHeads(ctx)
			must.NoError(t, err)
			_, err = s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false)
			must.NoError(t, err)
			for _, word := range []string{"Jane Doe", "Acme", "owner@acme.example", "key <&>"} {
				if in := found(t, s, word); in != nil {
					t.Errorf("%q is still in %q", word, in)
				}
			}
			if n := files(t, s); n != 0 {
				t.Errorf("%d files are left", n)
			}
			holds(t, s, "after the account")
			o := s.Proof()
			o.Heads = heads // that were kept before the erasure still hold
			r, err := proof.Check(ctx, o)
			must.NoError(t, err)
			if !r.OK {
				t.Errorf("kept heads: %+v", r.Problems)
			}
			totals, err := s.Store.PhotoTotals(ctx)
			must.NoError(t, err)
			if totals.Photos != 0 || totals.Bytes != 0 {
				t.Errorf("the totals of photos are %+v", totals)
			}
			next, err := s.Service.CreateAccount(ctx, access.System, s.Account.Name, "owner@next.example", "en")
			must.NoError(t, err)
			must.NoError(t, s.Service.RefreshCatalog(ctx))
			times := s.Service.Catalog().AnswerTimes(catalog.Context{Category: "bags", Brand: "chanel"}, next.Account.ID)
			if times[0].Price == 1 {
				t.Error("the next account of the name has the price that was agreed with the erased one")
			}
			log := rawsql.Rows(t, target, "SELECT code FROM staff_actions WHERE code IN ('order.erased', 'account.erased')")
			if len(log) != 3 {
				t.Errorf("the log of administration has %q", log)
			}
		})
		t.Run("AnErasedEntryCannotBeRewritten", func(t *testing.T) {
			rawsql.Exec(t, target, "UPDATE audit_events SET actor_name = 'somebody' WHERE seq = 1")
			r, err := proof.Check(ctx, s.Proof())
			must.NoError(t, err)
			if r.OK {
				t.Error("a name was put into an erased entry")
			}
			rawsql.Exec(t, target, "UPDATE audit_events SET actor_name = '' WHERE seq = 1")
		})
	})
}

// TestErase_Copies: with an order the events of all its moves and its idempotency key are erased, and no others.
func TestErase_Copies(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		actor := s.Test.Actor(access.Origin{})
		url := s.Photo(t, s.Test)
		var ids []string
		for _, key := range []string{"first", "second"} { // at the same time
			idem, err := s.Service.BeginIdempotent(actor.Tenant, key, nil)
			must.NoError(t, err)
			created, err := s.Service.CreateOrder(ctx, actor, &order.Draft{
				CategoryCode: "bags", BrandCode: "prada", Mock: order.MockUpdatePhotos, MockGiven: true,
				Photos: []order.DraftPhoto{{URL: url, IndexCode: "overall-picture"}},
			}, idem)
			must.NoError(t, err)
			ids = append(ids, created.OrderID)
		}
		s.Clock.Advance(time.Second)
		o, err := s.Store.Order(ctx, ids[0])
		must.NoError(t, err)
		sub := new(order.Submission)
		for i := range o.Requested {
			sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: o.Requested[i].IndexCode, URL: &url})
		}
		for _, id := range ids {
			_, err := s.Service.SubmitPhotos(ctx, actor, id, sub)
			must.NoError(t, err)
		}
		r, err := s.Service.EraseOrder(ctx, access.Operator, ids[0], false)
		must.NoError(t, err)
		if r.Rows["events"] != 2 || r.Rows["idempotency_keys"] != 1 {
			t.Errorf("the report is %v", r.Rows)
		}
		left := rawsql.Rows(t, target, "SELECT order_id FROM events UNION ALL SELECT key FROM idempotency_keys")
		if fmt.Sprint(left) != fmt.Sprint([][]string{{ids[1]}, {ids[1]}, {"second"}}) {
			t.Errorf("left are %v", left)
		}
	})
}

// TestErase_Many: an account with more rows than are deleted at once is erased, and a dry run tells the same numbers.
func TestErase_Many(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		e := endpoint(t, s, s.Test, "hook", webhook.OrderOutcome)
		pending := s.Order(t, s.Test, order.MockFake)
		s.Order(t, s.Test, order.MockAuthentic)
		failDue(t, s, e)
		s.Order(t, s.Test, order.MockFake)
		const many = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 450) `
		rawsql.Exec(t, target, `INSERT INTO request_log (id, account_id, environment, first_id, requests, seq, body) `+many+
			"SELECT 'request ' || n, '"+s.Account.ID+"', 'test', 'request ' || n, 1, n, '' FROM numbers")
		rawsql.Exec(t, target, `INSERT INTO deliveries
			(id, endpoint_id, account_id, environment, order_id, event, body, created_at) `+many+"SELECT 'delivery ' || n, '"+
			e.ID+"', '"+s.Account.ID+"', 'test', '"+pending+"', 'order-outcome', '{}', 1 FROM numbers")
		rawsql.Exec(t, target, `INSERT INTO delivery_queue (endpoint_id, due_at, delivery_id, failures, attempts)
			SELECT endpoint_id, 1, id, 0, 0 FROM deliveries WHERE created_at = 1`)
		rawsql.Exec(t, target, `INSERT INTO idempotency_keys (tenant, key, body_hash, answer, created_at) `+many+
			"SELECT tenant, 'key ' || n, '', '"+pending+"', 1 FROM numbers, balances")
		dry, err := s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, true)
		must.NoError(t, err)
		r, err := s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false)
		must.NoError(t, err)
		if !maps.Equal(dry.Rows, r.Rows) || dry.Orders != r.Orders || dry.Photos != r.Photos || dry.Bytes != r.Bytes {
			t.Errorf("the report is %+v, of the dry run %+v", r, dry)
		}
		told := func(what string) int64 { return r.Rows[what] }
		expect.Results(t, told, map[string]int64{
			"request_log": 450, "deliveries": 453, "delivery_queue": 451, "delivery_attempts": 2, "idempotency_keys": 900,
			"events": 3, "webhook_endpoints": 1,
		})
		left := func(table string) string { return rawsql.Rows(t, target, "SELECT COUNT(*) FROM "+table)[0][0] }
		expect.Results(t, left, map[string]string{
			"request_log": "0", "deliveries": "0", "delivery_queue": "0", "delivery_attempts": "0", "idempotency_keys": "0",
			"events": "0", "webhook_endpoints": "0",
		})
	})
}

// TestErase_CatalogChanges: catalogs that change while those with prices of the account are looked for, which is before
// the transaction, stay changed, and no price of the account is left in them.
func TestErase_CatalogChanges(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		other, err := s.Service.CreateAccount(ctx, access.System, "Initech", "owner@other.example", "en")
		must.NoError(t, err)
		doc, err := s.Service.CatalogDocument(ctx)
		must.NoError(t, err)
		plain, err := doc.YAML()
		must.NoError(t, err)
		load := func(names ...string) {
			text := slices.Clone(plain)
			if len(names) > 0 {
				text = append(text, "account_prices:\n"...)
			}
			for _, name := range names {
				text = fmt.Appendf(text, "- {account: %q, code: %d, price: 1}\n", name, doc.AnswerTimes[0].Code)
			}
			_, err := s.Service.ImportCatalog(ctx, access.System, text)
			must.NoError(t, err)
		}
		load(s.Account.Name, "Initech")
		load()
		changes := []func(){
			func() { // a catalog that is kept changes
				_, err := s.Service.EraseAccount(ctx, access.Operator, other.Account.ID, false)
				must.NoError(t, err)
			},
			func() { load(s.Account.Name) },
		}
		told := progress.With(ctx, func(what string, _ progress.Unit, left int64) func(int64) {
			return func(n int64) {
				if left -= n; what == "kept catalogs" && left == 0 && len(changes) > 0 {
					change := changes[0]
					changes = changes[1:]
					change()
				}
			}
		})
		r, err := s.Service.EraseAccount(told, access.Operator, s.Account.ID, false)
		must.NoError(t, err)
		if len(changes) != 0 || r.Rows["agreed_prices"] != 1 {
			t.Errorf("%d changes were not made; the report is %+v", len(changes), r)
		}
		for _, name := range []string{s.Account.Name, "Initech"} {
			if in := found(t, s, name); slices.Contains(in, "catalog_versions") {
				t.Errorf("prices of %s are left", name)
			}
		}
	})
}

// exportRows keeps what an export gives.
type exportRows struct {
	rows   strings.Builder
	kinds  map[string]int
	photos int
}

func (e *exportRows) Row(kind string, row map[string]any) error {
	e.kinds[kind]++
	for name, v := range row {
		if text, ok := v.(string); ok {
			e.rows.WriteString(name + "=" + text + "\n")
		}
	}
	return nil
}

func (e *exportRows) Photo(_ string, content io.Reader) error {
	e.photos++
	_, err := io.Copy(io.Discard, content)
	return err
}

func TestExportAccount(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Trade(t)
		_, err := s.Service.CreateAccount(t.Context(), access.System, "Other", "owner@other.example", "en")
		must.NoError(t, err)
		_, _, err = s.Service.CreateCaptureLink(t.Context(), s.Live.Actor(access.Origin{}), service.NewCaptureLink{
			CategoryCode: "bags", BrandCode: "chanel", ReturnURL: "https://shop.example/back",
		})
		must.NoError(t, err)
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
			block := requestlog.NewBlock(s.Live.Tenant)
			block.Add(&requestlog.Entry{
				ID: uuid.Must(uuid.NewV7()), Tenant: s.Live.Tenant, KeyID: s.Live.ID, Method: "GET",
				Route: "GET /v1/integrations/orders/{id}", Ref: "sku of Jane", Status: 404, Code: "order-not-found",
			})
			return tx.InsertRequests([]*requestlog.Block{block}, requestlog.MaxRequests)
		}))
		got := &exportRows{kinds: map[string]int{}}
		told := &progresstest.Recorder{}
		must.NoError(t, s.Service.ExportAccount(told.Context(context.WithoutCancel(t.Context())), access.Operator, s.Account,
			got))
		told.WantDone(t, "rows of users", "rows of orders", "rows of ledger", "rows of photos", "photos")
		for kind, n := range map[string]int{
			"account": 1, "users": 1, "api_keys": 2, "orders": 8, "ledger": 12, "photos": 10, "capture_links": 1,
			"request_log": 1,
		} {
			if got.kinds[kind] != n {
				t.Errorf("%d rows of %s, want %d", got.kinds[kind], kind, n)
			}
		}
		all := got.rows.String()
		if got.photos != 10 || !strings.Contains(all, "email=owner@acme.example") || strings.Contains(all, "Other") {
			t.Errorf("%d photos, or rows of another account", got.photos)
		}
		for _, part := range []string{
			"return_url=https://shop.example/back", "path=/v1/integrations/orders/sku of Jane",
		} {
			if !strings.Contains(all, part) {
				t.Errorf("the export lacks %s", part)
			}
		}
		for _, row := range rawsql.Rows(t, target, "SELECT hash FROM api_keys UNION ALL SELECT password_hash FROM users") {
			if strings.Contains(all, row[0]) {
				t.Error("a secret is exported")
			}
		}
		viewer := access.Actor{Kind: access.ByUser, Role: access.Owner, Tenant: access.Tenant{AccountID: s.Account.ID}}
		if err := s.Service.ExportAccount(t.Context(), viewer, s.Account, got); fault.CodeOf(err) != "forbidden" {
			t.Errorf("an owner exports: %v", err)
		}
	})
}

// TestExportAccount_Timeline checks that the export tells of an order what the portal does, and nothing of the desk.
func TestExportAccount_Timeline(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx, reviewer, lead := t.Context(), who.Actor(access.Origin{}), admin.Actor(access.Origin{})
		id := s.Order(t, s.Live, "")
		_, err := s.Service.ClaimOrder(ctx, reviewer, id)
		must.NoError(t, err)
		_, err = s.Service.ReleaseOrder(ctx, reviewer, id)
		must.NoError(t, err)
		_, err = s.Service.ClaimOrder(ctx, reviewer, id)
		must.NoError(t, err)
		_, err = s.Service.ReassignOrder(ctx, lead, id, admin.ID)
		must.NoError(t, err)
		verdict := &order.Verdict{Outcome: order.Authentic}
		_, err = s.Service.CompleteOrder(ctx, lead, id, verdict, "The customer is a nuisance")
		must.NoError(t, err)
		damaged := s.Order(t, s.Live, "")
		must.NoError(t, s.Store.Update(ctx, func(tx *store.Tx) error {
			return tx.AppendTimeline(damaged, &order.TimelineEntry{At: s.Clock.Now(), Event: "claimed"})
		}))
		rawsql.Exec(t, s.Target, "UPDATE order_events SET details = 'nuisance' WHERE order_id = '"+damaged+"'")

		got := &exportRows{kinds: map[string]int{}}
		must.NoError(t, s.Service.ExportAccount(ctx, access.Operator, s.Account, got))
		all := got.rows.String()
		for _, word := range []string{"nuisance", who.Name, admin.Name, who.ID, admin.ID, "released", "reassigned"} {
			if strings.Contains(all, word) {
				t.Errorf("the export tells of %q", word)
			}
		}
		if n := got.kinds["order_events"]; n != 4 || !strings.Contains(all, `details={"outcome":"authentic"`) {
			t.Errorf("%d entries of the timeline: %s", n, all)
		}
	})
}

// TestErase_Again: an erasure that ended between its rows and its files is finished by running it again.
func TestErase_Again(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s, u := newUndeleting(t, target)
		again := func(erase func(dry bool) (*service.ErasureReport, error), photos int64) {
			t.Helper()
			u.on = true
			before := files(t, s)
			for range 2 {
				if _, err := erase(false); !errors.Is(err, errInterrupted) {
					t.Fatalf("interrupted: %v", err)
				}
			}
			u.on = false
			dry, err := erase(true)
			must.NoError(t, err)
			if dry.Photos != photos || files(t, s) != before {
				t.Errorf("it would erase %d photos, want %d; %d of %d files are left", dry.Photos, photos, files(t, s), before)
			}
			r, err := erase(false)
			must.NoError(t, err)
			if r.Photos != photos || r.Bytes == 0 || r.Bytes != dry.Bytes || files(t, s) != before-int(photos) {
				t.Errorf("%d photos are erased, want %d; %d of %d files are left", r.Photos, photos, files(t, s), before)
			}
			if r, err := erase(false); err != nil || r.Photos != 0 || r.Bytes != 0 {
				t.Errorf("once more: %+v, %v", r, err)
			}
			holds(t, s, "erased")
		}
		id := s.Order(t, s.Test, order.MockFake)
		again(func(dry bool) (*service.ErasureReport, error) {
			return s.Service.EraseOrder(ctx, access.Operator, id, dry)
		}, 1)
		again(func(dry bool) (*service.ErasureReport, error) {
			return s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, dry)
		}, 10)
		if rows := rawsql.Rows(t, target, "SELECT name FROM photos WHERE used = 0"); len(rows) != 0 {
			t.Errorf("rows of photos without an order are left: %v", rows)
		}
	})
}

// TestErase_Unused: a photo of no order whose erasure was interrupted is not counted twice when its time is over.
func TestErase_Unused(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		s.Photo(t, s.Live)
		u := &undeleting{Store: s.Media, on: true}
		s.Reconfigure(t, func(c *service.Config) { c.Media = u })
		if _, err := s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false); !errors.Is(err, errInterrupted) {
			t.Fatalf("interrupted: %v", err)
		}
		holds(t, s, "interrupted")
		u.on = false
		s.Clock.Advance(time.Hour)
		if n, err := s.Service.DeleteUnusedPhotos(ctx, s.Clock.Now(), 10); n != 1 || err != nil {
			t.Errorf("%d unused photos are deleted, %v", n, err)
		}
		if n := files(t, s); n != 0 {
			t.Errorf("%d files are left", n)
		}
		holds(t, s, "after housekeeping")
	})
}

// openLink makes a capture link and sends a photo through it, which is not submitted.
func openLink(t *testing.T, s *shop.Shop, k *access.Key, n service.NewCaptureLink) {
	t.Helper()
	_, address, err := s.Service.CreateCaptureLink(t.Context(), k.Actor(access.Origin{}), n)
	must.NoError(t, err)
	_, token, _ := strings.Cut(address, "/capture/")
	c, err := s.Service.OpenCapture(t.Context(), token)
	must.NoError(t, err)
	must.NoError(t, upload(t, s, func(u media.Upload) error {
		return s.Service.AddCapturePhoto(t.Context(), c, "a-photo-of-a-page", c.Wanted[0].Code, u)
	}))
}

// TestErase_OpenLink: a photo that was sent through a capture link and not submitted is erased with the order or the
// account of the link.
func TestErase_OpenLink(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		asked := s.Order(t, s.Test, order.MockUpdatePhotos)
		openLink(t, s, s.Test, service.NewCaptureLink{OrderID: asked})
		openLink(t, s, s.Live, service.NewCaptureLink{CategoryCode: "bags", BrandCode: "prada"})
		erase := func(erase func(dry bool) (*service.ErasureReport, error), photos int64, left int) {
			t.Helper()
			dry, err := erase(true)
			must.NoError(t, err)
			r, err := erase(false)
			must.NoError(t, err)
			if dry.Photos != photos || r.Photos != photos || r.Bytes != dry.Bytes || !maps.Equal(dry.Rows, r.Rows) {
				t.Errorf("want %d photos; the report is %+v, of the dry run %+v", photos, r, dry)
			}
			if n := files(t, s); n != left {
				t.Errorf("%d files are left, want %d", n, left)
			}
			holds(t, s, "erased")
		}
		erase(func(dry bool) (*service.ErasureReport, error) {
			return s.Service.EraseOrder(ctx, access.Operator, asked, dry)
		}, 2, 1)
		erase(func(dry bool) (*service.ErasureReport, error) {
			return s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, dry)
		}, 1, 0)
		if rows := rawsql.Rows(t, target, "SELECT name FROM photos WHERE erased_at IS NULL OR used = 0"); len(rows) != 0 {
			t.Errorf("rows of photos without an order are left: %v", rows)
		}
	})
}

// TestErase_Late: what a node still takes for an account that was just closed is erased with it, and a Live order that
// was among it is told: the desk still needs it.
func TestErase_Late(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		var told []service.Change
		var late string
		s.Reconfigure(t, func(c *service.Config) {
			c.OnChange = func(change service.Change) { told = append(told, change) }
			c.Wait = func(context.Context, time.Duration) error {
				if !slices.Contains(told, service.KeyChange) || !slices.Contains(told, service.EndpointChange) {
					t.Errorf("announced are %q", told)
				}
				if late == "" {
					openLink(t, s, s.Live, service.NewCaptureLink{CategoryCode: "bags", BrandCode: "prada"})
					late = s.Order(t, s.Live, "")
				}
				return nil
			}
		})
		r, err := s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false)
		if fault.CodeOf(err) != "orders-open" || r == nil || r.Photos != 1 || r.Rows["capture_links"] != 1 {
			t.Errorf("with a late order: %+v, %v", r, err)
		}
		_, err = s.Service.CancelOrder(ctx, access.System, late, "withdrawn")
		must.NoError(t, err)
		_, err = s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false)
		must.NoError(t, err)
		if n := files(t, s); n != 0 {
			t.Errorf("%d files are left", n)
		}
		holds(t, s, "erased")
	})
}
