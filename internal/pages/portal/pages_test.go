package portal_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

func TestKeys(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	v.Post("/portal/keys", "name", "", "environment", "test").
		Want(t, http.StatusUnprocessableEntity, "This field is required.")
	v.Post("/portal/keys", "name", "Old", "environment", "test", "scopes", "orders:read", "expires", "2020-01-01").
		Want(t, http.StatusUnprocessableEntity, "in the future")
	last := w.Clock.Now().UTC().AddDate(100, 0, -1) // it ends with this day
	v.Get("/portal/keys/new").Want(t, http.StatusOK, `max="`+last.Format(time.DateOnly)+`"`)
	for _, day := range []string{last.AddDate(0, 0, 1).Format(time.DateOnly), "9999-12-31"} {
		v.Post("/portal/keys", "name", "Far", "environment", "test", "scopes", "orders:read", "expires", day).
			Want(t, http.StatusUnprocessableEntity, "at most 100 years from now")
	}
	v.Post("/portal/keys", "name", "Far", "environment", "test", "scopes", "orders:read", "expires",
		last.Format(time.DateOnly)).Want(t, http.StatusOK)
	p := v.Post("/portal/keys", "name", "Checkout <b>", "environment", "test", "scopes", "orders:read", "scopes",
		"audit:read", "expires", "2026-03-05").
		Want(t, http.StatusOK, "Checkout &lt;b&gt;")
	secret := regexp.MustCompile(`assay_test_\w{38}`).FindString(p.Body)
	k, err := w.Service.Authenticate(t.Context(), secret, "")
	must.NoError(t, err)
	if want := time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC); k.ExpiresAt == nil || !k.ExpiresAt.Equal(want) {
		t.Errorf("expires at %v, want %v", k.ExpiresAt, want)
	}
	if access.JoinScopes(k.Scopes) != "orders:read audit:read" || k.CreatedBy != w.Developer.ID {
		t.Errorf("key %+v", k)
	}
	e := w.lastEvent(t)
	if e.Code != audit.KeyCreated || e.Actor.ID != w.Developer.ID || e.Actor.Source != audit.FromPortal ||
		e.Target.ID != k.ID || e.Metadata["name"] != "Checkout <b>" {
		t.Errorf("event %+v", e)
	}
	v.Get("/portal/keys").Want(t, http.StatusOK, "Checkout &lt;b&gt;").Lacks(t, secret)

	v.Submit("/portal/keys/"+k.ID+"/rename", "name", "Till").Want(t, http.StatusOK, "The key is now called Till.")
	if e := w.lastEvent(t); e.Code != audit.KeyRenamed || e.Metadata["old_name"] != "Checkout <b>" ||
		e.Metadata["new_name"] != "Till" || e.Metadata["environment"] != "test" {
		t.Errorf("event %+v", e)
	}
	v.Post("/portal/keys/"+k.ID+"/rename", "name", strings.Repeat("x", 101)).
		Want(t, http.StatusUnprocessableEntity, "1 to 100 characters.")

	v.Submit("/portal/keys/"+k.ID+"/revoke").Want(t, http.StatusOK, "Till is revoked.", "1 inactive key")
	if e := w.lastEvent(t); e.Code != audit.KeyRevoked || e.Actor.Name != w.Developer.Email ||
		e.Metadata["name"] != "Till" {
		t.Errorf("event %+v", e)
	}
	if _, err := w.Service.Authenticate(t.Context(), secret, ""); err == nil {
		t.Error("the revoked key still authenticates")
	}
	v.Get("/portal/keys/"+k.ID+"/rename").Want(t, http.StatusNotFound)
}

// TestOrderPage_ErasedPhotos checks that the page of an order says that photos were erased, and has no address of them.
func TestOrderPage_ErasedPhotos(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	id := w.Order(t, w.Test, order.MockAuthentic)
	v.Get("/portal/test/orders/"+id).Want(t, http.StatusOK, "/portal/photos/").Lacks(t, "</svg>deleted")
	_, err := w.Service.EraseOrder(t.Context(), access.Operator, id, false)
	must.NoError(t, err)
	v.Get("/portal/test/orders/"+id).Want(t, http.StatusOK, "</svg>deleted").Lacks(t, "/portal/photos/")
	v.Get("/portal/test/orders/"+id+"?lang=ja").Want(t, http.StatusOK, "</svg>削除済み")
}

func TestOrderPages(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	for range 27 {
		w.Order(t, w.Test, order.MockAuthentic)
	}
	waiting := w.Order(t, w.Test, order.MockUpdatePhotos)
	o, err := w.Store.Order(t.Context(), waiting)
	must.NoError(t, err)
	t.Run("Paging", func(t *testing.T) {
		if n := strings.Count(v.Get("/portal/test/orders").Want(t, http.StatusOK, "1–25 of 28").Body,
			`<th scope="row"`); n != 25 {
			t.Errorf("%d rows", n)
		}
		if n := strings.Count(v.Get("/portal/test/orders?page=2").Want(t, http.StatusOK).Body, `<th scope="row"`); n != 3 {
			t.Errorf("%d rows", n)
		}
		v.Get("/portal/test/orders?page=-9").Want(t, http.StatusOK, "1–25 of 28")
		v.Get("/portal/test/orders?page=999999999999999999999").Want(t, http.StatusOK)
		v.Get("/portal/live/orders").Want(t, http.StatusOK, "No orders yet").Lacks(t, o.Number)
	})
	t.Run("Search", func(t *testing.T) {
		for _, q := range []string{waiting, o.Number, strings.ToLower(o.Number), " " + waiting + " "} {
			if p := v.Get("/portal/test/orders?q=" + strings.ReplaceAll(q, " ", "+")); p.Location != "/portal/test/orders/"+
				waiting {
				t.Errorf("%q leads to %q", q, p.Location)
			}
			v.Get("/portal/live/orders?q="+strings.ReplaceAll(q, " ", "+")).Want(t, http.StatusOK, "Nothing found")
		}
		v.Get("/portal/test/orders?status=update-photos").Want(t, http.StatusOK, o.Number)
	})
	t.Run("NoStaffNames", func(t *testing.T) {
		id := w.Order(t, w.Live, "")
		_, err := w.Service.ClaimOrder(t.Context(), w.Mika.Actor(access.Origin{}), id)
		must.NoError(t, err)
		_, err = w.Service.CompleteOrder(t.Context(), w.Mika.Actor(access.Origin{}), id,
			&order.Verdict{Outcome: order.UnableToVerify},
			"an inner note")
		must.NoError(t, err)
		v.Get("/portal/live/orders/"+id).Want(t, http.StatusOK, "reviewer").Lacks(t, "Mika", "Sato", "an inner note")
	})
	t.Run("Cancel", func(t *testing.T) {
		id := w.Order(t, w.Live, "")
		before, err := w.Store.Balance(t.Context(), w.Account.Tenant(access.Live))
		must.NoError(t, err)
		v.Get("/portal/live/orders/"+id+"/cancel").Want(t, http.StatusOK, "will be refunded")
		v.Submit("/portal/live/orders/"+id+"/cancel").
			Want(t, http.StatusOK, "The order is canceled and refunded.", "developer@acme.example")
		after, err := w.Store.Balance(t.Context(), w.Account.Tenant(access.Live))
		must.NoError(t, err)
		canceled, err := w.Store.Order(t.Context(), id)
		must.NoError(t, err)
		if canceled.Outcome != order.Canceled || after != before+canceled.Price {
			t.Errorf("outcome %s, balance %d after %d", canceled.Outcome, after, before)
		}
		v.Post("/portal/live/orders/"+id+"/cancel").Want(t, http.StatusConflict)
	})
	t.Run("CSV", func(t *testing.T) {
		p := v.Get("/portal/test/orders.csv").Want(t, http.StatusOK)
		rows, err := csv.NewReader(strings.NewReader(p.Body)).ReadAll()
		must.NoError(t, err)
		if len(rows) != 29 || rows[0][0] != "\uFEFForder_number" || rows[1][0] != o.Number {
			t.Errorf("%d rows, the first %v", len(rows), rows[1])
		}
		if p.Header.Get("Content-Disposition") != `attachment; filename="orders-test.csv"` {
			t.Errorf("headers %v", p.Header)
		}
	})
}

func TestCredits(t *testing.T) {
	w := newWorld(t)
	w.Trade(t)
	v := w.AsUser(t, w.Viewer)
	rows := func(path string) int { return strings.Count(v.Get(path).Want(t, http.StatusOK).Body, `data-label="#"`) }
	if n := rows("/portal/live/credits"); n != 6 { // a grant, three charges, two refunds
		t.Errorf("%d entries", n)
	}
	if n := rows("/portal/live/credits?view=changes"); n != 3 {
		t.Errorf("%d grants and refunds", n)
	}
	if n := rows("/portal/live/credits?view=changes&before=2"); n != 1 {
		t.Errorf("%d before the second entry", n)
	}
	records, err := csv.NewReader(strings.NewReader(v.Get("/portal/live/credits.csv").Body)).ReadAll()
	must.NoError(t, err)
	if len(records) != 7 || records[6][2] != "grant" || records[6][4] != "1000" {
		t.Errorf("the file has %v", records)
	}
}

// TestFormulas checks that no cell of a table is taken for a formula by a spreadsheet.
func TestFormulas(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"=1+1", "+1", "-1", "@x", "plain"} {
		_, err := w.Service.CreateOrder(t.Context(), w.Test.Actor(access.Origin{}), &order.Draft{
			CategoryCode: "bags", BrandCode: "prada", Mock: order.MockFake, MockGiven: true, ExternalID: &id,
			Photos: []order.DraftPhoto{{URL: w.Photo(t, w.Test), IndexCode: "overall-picture"}},
		}, nil)
		must.NoError(t, err)
	}
	rows, err := csv.NewReader(strings.NewReader(w.AsUser(t, w.Viewer).Get("/portal/test/orders.csv").Body)).ReadAll()
	must.NoError(t, err)
	for _, row := range rows[1:] {
		if row[2] != "plain" && row[2][0] != '\'' {
			t.Errorf("the cell %q is a formula", row[2])
		}
	}
}

// TestOrderReasons checks that the portal tells the reasons that the API tells, and no others.
func TestOrderReasons(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Viewer)
	for mock, want := range map[order.MockOutcome]bool{
		order.MockAuthentic: true, order.MockFake: true, order.MockUnableToVerify: false,
	} {
		id := w.Order(t, w.Test, mock)
		o, err := w.Store.Order(t.Context(), id)
		must.NoError(t, err)
		if len(o.Reasons) == 0 {
			t.Fatalf("the desk has no reasons for %s", mock)
		}
		p := v.Get("/portal/test/orders/"+id).Want(t, http.StatusOK)
		if got := strings.Contains(p.Body, o.Reasons[0].Text.EN); got != want {
			t.Errorf("%s: the customer is told the reasons: %v", mock, got)
		}
	}
}

// formWithFiles is a form as a browser sends it; every file is called photo.png.
func formWithFiles(t *testing.T, fields map[string]string, files map[string][]byte) (body, contentType string) {
	t.Helper()
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	for name, value := range fields {
		must.NoError(t, form.WriteField(name, value))
	}
	for name, content := range files {
		part, err := form.CreateFormFile(name, "photo.png")
		must.NoError(t, err)
		_, err = part.Write(content)
		must.NoError(t, err)
	}
	must.NoError(t, form.Close())
	return out.String(), form.FormDataContentType()
}

// answer sends a form with files to answer a photo request.
func answer(v *pagetest.Visitor, path string, fields map[string]string, files map[string][]byte) *pagetest.Page {
	v.T.Helper()
	body, contentType := formWithFiles(v.T, fields, files)
	return v.Do(http.MethodPost, path, contentType, strings.NewReader(body))
}

// TestAnswerPhotoRequest_CutOff sends a form whose body ends where another part would begin.
func TestAnswerPhotoRequest_CutOff(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	id := w.Order(t, w.Test, order.MockUpdatePhotos)
	whole, contentType := w.unableToProvide(t, id)
	cut := strings.TrimSuffix(whole, "--\r\n") + "\r\n"
	path := "/portal/test/orders/" + id + "/photos"
	v.Do(http.MethodPost, path, contentType, strings.NewReader(cut)).Want(t, http.StatusBadRequest)
	if o, err := w.Store.Order(t.Context(), id); err != nil || o.Status != order.UpdatePhotos {
		t.Errorf("after half a form the order is %+v, %v", o, err)
	}
	v.Do(http.MethodPost, path, contentType, strings.NewReader(whole)).Want(t, http.StatusSeeOther)
}

// TestAnswerPhotoRequest_Fields sends forms that no browser would send: they are refused before they fill the memory.
func TestAnswerPhotoRequest_Fields(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	id := w.Order(t, w.Test, order.MockUpdatePhotos)
	path := "/portal/test/orders/" + id + "/photos"
	send := func(write func(*multipart.Writer)) *pagetest.Page {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		write(form)
		must.NoError(t, form.Close())
		return v.Do(http.MethodPost, path, form.FormDataContentType(), &body)
	}
	fields := func(n int, name, value string) func(*multipart.Writer) {
		return func(form *multipart.Writer) {
			for range n {
				must.NoError(t, form.WriteField(name, value))
			}
		}
	}
	send(fields(1, "unknown", "1")).Want(t, http.StatusBadRequest, "The form has no field &#34;unknown&#34;.")
	send(fields(201, "note", "")).Want(t, http.StatusBadRequest, "The form has more than 200 fields.")
	send(fields(201, "photo.front", "")).Want(t, http.StatusBadRequest)
	send(fields(9, "note", strings.Repeat("x", 8000))).Want(t, http.StatusRequestEntityTooLarge)
	send(fields(1, "note", strings.Repeat("x", 9000))).Want(t, http.StatusRequestEntityTooLarge)
	send(fields(190, "unable."+strings.Repeat("x", 400), "")).Want(t, http.StatusRequestEntityTooLarge)
	o, err := w.Store.Order(t.Context(), id)
	must.NoError(t, err)
	send(func(form *multipart.Writer) {
		for _, r := range o.Requested {
			must.NoError(t, form.WriteField("unable."+r.IndexCode, "1"))
			_, err := form.CreateFormFile("photo."+r.IndexCode, "") // what a browser sends for no file
			must.NoError(t, err)
		}
	}).Want(t, http.StatusSeeOther)
}

var pixel = []byte("\x89PNG\r\n\x1a\n" +
	"\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")

func TestAnswerPhotoRequest(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	id := w.Order(t, w.Test, order.MockUpdatePhotos)
	o, err := w.Store.Order(t.Context(), id)
	must.NoError(t, err)
	first, second := o.Requested[0].IndexCode, o.Requested[1].IndexCode
	path := "/portal/test/orders/" + id + "/photos"
	p := answer(v, path, nil, map[string][]byte{"photo." + first: pixel}).
		Want(t, http.StatusUnprocessableEntity, "Add a file for every requested photo",
			"Choose a photo, or mark it as unavailable.")
	labels := regexp.MustCompile(`(?s)<label for="f-photo.*?</label>`).FindAllString(p.Body, -1)
	if len(labels) != 2 || strings.Contains(strings.Join(labels, ""), "optional") {
		t.Errorf("the photos are called %q", labels)
	}
	answer(v, path, map[string]string{"unable." + second: "1"}, map[string][]byte{"photo." + first: []byte("no image")}).
		Want(t, http.StatusUnprocessableEntity, "photo.png: this is not a JPEG")
	answer(v, path, map[string]string{"unable." + second: "1"}, map[string][]byte{
		"photo." + first: append(pixel, make([]byte, 1<<20)...),
	}).
		Want(t, http.StatusUnprocessableEntity, "the file is too large")
	answer(v, path, nil, map[string][]byte{"photo." + first: pixel, "photo." + second: pixel, "photo.sole": pixel}).
		Want(t, http.StatusUnprocessableEntity)
	if n := countPhotos(t, w, id); n != 1 {
		t.Fatalf("%d photos after refused answers", n)
	}
	answer(v, path, map[string]string{"unable." + second: "1", "note": "no tag"},
		map[string][]byte{"photo." + first: pixel}).Want(t, http.StatusSeeOther)
	v.Get("/portal/test/orders/"+id).
		Want(t, http.StatusOK, "Unable to verify", "no tag", "not provided", "developer@acme.example")
	answer(v, path, nil, map[string][]byte{"photo." + first: pixel}).Want(t, http.StatusConflict)
	t.Run("ByScript", func(t *testing.T) {
		id := w.Order(t, w.Test, order.MockUpdatePhotos)
		v.Headers["X-Upload"] = "script"
		p := answer(v, "/portal/test/orders/"+id+"/photos", nil, map[string][]byte{
			"photo." + first: pixel, "photo." + second: pixel,
		}).Want(t, http.StatusNoContent)
		delete(v.Headers, "X-Upload")
		v.Get(p.Location).Want(t, http.StatusOK, "The photos were accepted.")
	})
}

func countPhotos(t *testing.T, w *world, orderID string) int {
	t.Helper()
	photos, err := w.Store.OrderPhotos(t.Context(), orderID)
	must.NoError(t, err)
	return len(photos)
}

func TestSandbox(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	v.Get("/portal/test/sandbox").Want(t, http.StatusOK, "Choose a category and a brand")
	v.Get("/portal/test/sandbox?category=bags").Want(t, http.StatusOK, `name="brand"`)
	v.Get("/portal/test/sandbox?category=bags&brand=rolex").Want(t, http.StatusOK, "Choose a category and a brand")
	v.Get("/portal/test/sandbox?category=bags&brand=prada").Want(t, http.StatusOK, "Overall picture", "mock_outcome")
	v.Post("/portal/test/sandbox", "category", "bags", "brand", "prada", "key", w.Test.ID, "outcome", "authentic",
		"indexes", "logo").Want(t, http.StatusUnprocessableEntity, "Required photos are missing.")
	p := v.Post("/portal/test/sandbox", "category", "bags", "brand", "prada", "key", w.Test.ID, "outcome", "authentic",
		"indexes", "overall-picture", "external_id", "SKU 7").
		Want(t, http.StatusSeeOther)
	id := p.Location[strings.LastIndex(p.Location, "/")+1:]
	v.Get(p.Location).Want(t, http.StatusOK, "Authentic", "SKU 7", "Certificate")

	for _, state := range order.SandboxStates {
		v.Submit("/portal/test/orders/"+id+"/state", "state", string(state)).Want(t, http.StatusOK, "The order is now:")
	}
	// refunded once
	for _, state := range []order.SandboxState{
		order.SandboxState(order.Canceled), order.SandboxState(order.Authentic), order.SandboxState(order.Failed),
		order.SandboxState(order.Fake),
	} {
		v.Submit("/portal/test/orders/"+id+"/state", "state", string(state))
	}
	entries, _, err := w.Store.LedgerPage(t.Context(), w.Account.Tenant(access.Test), 1, 10)
	must.NoError(t, err)
	if len(entries) != 3 { // the first credits, the charge, the refund
		t.Errorf("%d entries in the ledger", len(entries))
	}
	v.Submit("/portal/test/orders/"+id+"/state", "state", "update-photos", "indexes", "logo").
		Want(t, http.StatusOK, "Triangle logo plate")
	v.Post("/portal/test/orders/"+id+"/state", "state", "update-photos", "indexes", "nothing").
		Want(t, http.StatusUnprocessableEntity)
	v.Post("/portal/test/orders/"+id+"/state", "state", "sold").Want(t, http.StatusUnprocessableEntity)
	v.Submit("/portal/test/orders/"+id+"/delayed", "delayed", "1").Want(t, http.StatusOK, "Late")
	v.Submit("/portal/test/orders/"+id+"/delayed", "delayed", "0").Want(t, http.StatusOK, "no longer marked as late")

	v.Post("/portal/test/balance", "credits", "-1").Want(t, http.StatusUnprocessableEntity, "A whole number")
	v.Submit("/portal/test/balance", "credits", "0").Want(t, http.StatusOK, "The Test balance is now 0.")
	v.Post("/portal/test/sandbox", "category", "bags", "brand", "prada", "key", w.Test.ID, "outcome", "fake", "indexes",
		"overall-picture").
		Want(t, http.StatusUnprocessableEntity, "Not enough credits.")
	report, err := proof.Check(t.Context(), w.Proof())
	must.NoError(t, err)
	if !report.OK {
		t.Errorf("the books do not prove: %+v", report)
	}
	t.Run("ForeignKeyOfTheOtherEnvironment", func(t *testing.T) {
		v.Post("/portal/test/sandbox", "category", "bags", "brand", "prada", "key", w.Live.ID, "outcome", "fake", "indexes",
			"overall-picture").Want(t, http.StatusNotFound)
	})
}

// TestSandbox_NoPhotos: an order has photos, also of an item that requires none, or has no photo indexes at all.
func TestSandbox_NoPhotos(t *testing.T) {
	w := newWorld(t)
	_, err := w.Service.ImportCatalog(t.Context(), access.System, []byte(`
categories: [{code: art, name: {en: Art}}, {code: toys, name: {en: Toys}}]
brands: [{code: any, name: {en: Any}, categories: [art, toys]}]
photo_indexes: [{code: back, category: art, name: {en: Back}}]
answer_times: [{code: 60, name: {en: 1 hour}, price: 1}]
`))
	must.NoError(t, err)
	v := w.AsUser(t, w.Developer)
	for _, category := range []string{"art", "toys"} {
		for _, outcome := range order.MockOutcomes {
			v.Post("/portal/test/sandbox", "category", category, "brand", "any", "key", w.Test.ID, "outcome",
				string(outcome)).Want(t, http.StatusUnprocessableEntity, "An order needs at least one photo.")
		}
	}
	v.Submit("/portal/test/sandbox", "category", "art", "brand", "any", "key", w.Test.ID, "outcome", "update-photos",
		"indexes", "back").Want(t, http.StatusOK, "Back")
}

// TestTimelineOfSimulation checks that customers see what they moved in the sandbox, by a page or by a program.
func TestTimelineOfSimulation(t *testing.T) {
	w := newWorld(t)
	for _, actor := range []access.Actor{w.Test.Actor(access.Origin{}), w.Owner.Actor(access.Test, access.Origin{})} {
		id := w.Order(t, w.Test, order.MockAuthentic)
		_, err := w.Service.SimulateState(t.Context(), actor, id, order.SandboxState(order.Queued), nil)
		must.NoError(t, err)
		w.AsUser(t, w.Viewer).Get("/portal/test/orders/"+id).Want(t, http.StatusOK, "Back in the queue")
	}
}

// TestRefusalsInJapanese checks that error pages say in the visitor's language what exactly was refused.
func TestRefusalsInJapanese(t *testing.T) {
	w := newWorld(t)
	as := func(who *access.User) *pagetest.Visitor {
		v := w.AsUser(t, who)
		v.Headers["Accept-Language"] = "ja"
		return v
	}
	as(w.Viewer).Get("/portal/keys/new").Want(t, http.StatusForbidden, "「開発者」の役割が必要です").Lacks(t, "This needs")
	v := as(w.Developer)
	v.Get("/portal/activity").Want(t, http.StatusForbidden, "「オーナー」の役割が必要です")
	v.Post("/portal/test/deliveries/"+w.delivery(t, access.Test)+"/again").Want(t, http.StatusConflict, "送信待ちか")
	e := w.endpoint(t, access.Test)
	_, err := w.Service.RevokeKey(t.Context(), access.Operator, e.APIKeyID)
	must.NoError(t, err)
	v.Post("/portal/test/webhooks/"+e.ID+"/test", "event", "order-outcome").
		Want(t, http.StatusConflict, "このエンドポイントのキーは失効している")
	done := w.Order(t, w.Test, order.MockAuthentic)
	v.Post("/portal/test/orders/"+done+"/photos").Want(t, http.StatusConflict, "写真の提出待ちではなくなった")
	w.Reconfigure(t, func(c *service.Config) { c.Limits.Keys = 1 })
	v.Post("/portal/keys", "name", "One more", "environment", "test", "scopes", "orders:read").
		Want(t, http.StatusUnprocessableEntity, "API キーの数が上限に達しています")
}

func TestWebhookPages(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	form := func(more ...string) []string {
		return append([]string{"key", w.Test.ID, "auth", "hmac", "events", "order-outcome"}, more...)
	}
	v.Post("/portal/test/webhooks", form("url", "http://example.com/x")...).
		Want(t, http.StatusUnprocessableEntity, "https://")
	v.Post("/portal/test/webhooks", form("url", "https://例え.jp/x")...).
		Want(t, http.StatusUnprocessableEntity, "xn--")
	v.Post("/portal/test/webhooks", "key", w.Test.ID, "auth", "hmac", "url", "https://127.0.0.1:1999/x").
		Want(t, http.StatusUnprocessableEntity, "This field is required.")
	for _, blank := range []string{"", "   "} {
		v.Post("/portal/test/webhooks", "key", w.Test.ID, "auth", "oauth2", "events", "order-outcome", "url",
			"https://127.0.0.1:1999/x", "token_url", "https://127.0.0.1:1999/t", "client_id", blank, "client_secret", "s").
			Want(t, http.StatusUnprocessableEntity, `id="f-client_id-error"`).Lacks(t, `id="f-client_secret-error"`)
	}
	v.Get("/portal/test/webhooks/new").Want(t, http.StatusOK, `<label for="f-token_url">Token URL</label>`,
		`<label for="f-client_id">Client ID</label>`, `<label for="f-client_secret">Client secret</label>`)
	p := v.Post("/portal/test/webhooks", form("url", "https://127.0.0.1:1999/x", "name", "Local")...).
		Want(t, http.StatusOK, "The endpoint is registered")
	secret := regexp.MustCompile(`[0-9a-f]{64}`).FindString(p.Body)
	if secret == "" {
		t.Error("the secret is not shown")
	}
	if e := w.lastEvent(t); e.Code != audit.WebhookCreated || e.Actor.ID != w.Developer.ID || e.UserID != w.Developer.ID ||
		e.Actor.Source != audit.FromPortal ||
		e.Metadata["auth_type"] != "hmac" || strings.Contains(fmt.Sprint(e.Metadata), "127.0.0.1") {
		t.Errorf("event %+v", e)
	}
	v.Post("/portal/test/webhooks", form("url", "https://127.0.0.1:1999/x")...).
		Want(t, http.StatusUnprocessableEntity, "This key already has an endpoint with this URL.")
	v.Get("/portal/test/webhooks").Want(t, http.StatusOK, "Local").Lacks(t, secret)
	endpoints, err := w.Store.Endpoints(t.Context(), w.Test.ID)
	must.NoError(t, err)
	id := endpoints[0].ID
	p = v.Post("/portal/test/webhooks/"+id+"/test", "event", "order-outcome").Want(t, http.StatusSeeOther)
	v.Get(p.Location).Want(t, http.StatusOK, "assay-test-event", ">Pending<").Lacks(t, "Retrying")
	v.Post("/portal/test/webhooks/"+id+"/test", "event", "update-photos").Want(t, http.StatusBadRequest)
	delivery, err := w.Store.Delivery(t.Context(), p.Location[strings.LastIndex(p.Location, "/")+1:])
	must.NoError(t, err)
	var body map[string]any
	must.NoError(t, json.Unmarshal(delivery.Body, &body))
	if body["delivery_id"] != delivery.ID || body["status"] != "completed" || body["webhook_event"] != "order-outcome" {
		t.Errorf("body %v", body)
	}
	v.Get("/portal/test/deliveries?status=pending").Want(t, http.StatusOK, "order-outcome")
	v.Get("/portal/test/deliveries?status=failed").Want(t, http.StatusOK, "No deliveries")
	v.Submit("/portal/test/deliveries", "since", "week").Want(t, http.StatusOK, "Resending 0 deliveries.")
	v.Submit("/portal/test/webhooks/"+id+"/delete").Want(t, http.StatusOK, "The endpoint is deleted.")
	v.Post("/portal/test/webhooks/"+id+"/test", "event", "order-outcome").Want(t, http.StatusNotFound)
}

func TestAuditPages(t *testing.T) {
	w := newWorld(t)
	for range 30 {
		w.key(t, access.Test)
		w.Clock.Advance(24 * time.Hour)
	}
	v := w.AsUser(t, w.Viewer)
	rows := func(path string) int {
		return strings.Count(v.Get(path).Want(t, http.StatusOK).Body, `<th scope="row"`)
	}
	total := int(w.events(t))
	if n := rows("/portal/audit"); n != 25 {
		t.Errorf("%d rows on the first page", n)
	}
	older := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(v.Get("/portal/audit").Body)[1]
	if n := rows(older); n != total-25 {
		t.Errorf("%d rows on the second page, want %d", n, total-25)
	}
	if n := rows("/portal/audit?from=2026-03-05&to=2026-03-07"); n != 3 {
		t.Errorf("%d rows of three days", n)
	}
	if n := rows("/portal/audit?code=webhook.created"); n != 0 {
		t.Errorf("%d rows of another code", n)
	}
	if n := rows("/portal/audit?actor=" + w.Owner.ID + "&from=2026-03-20"); n != 13-1 {
		t.Errorf("%d rows of the owner", n)
	}
	v.Get("/portal/audit?code=nonsense&from=x&to=y&below=-4&actor=z").Want(t, http.StatusOK)
	v.Get("/portal/audit/3").Want(t, http.StatusOK, "API key created", "Vault 7", w.Owner.Email)
	v.Get("/portal/audit/999").Want(t, http.StatusNotFound)
	records, err := csv.NewReader(strings.NewReader(v.Get("/portal/audit.csv").Body)).ReadAll()
	must.NoError(t, err)
	if len(records) != total+1 {
		t.Errorf("%d rows in the file, want %d", len(records), total+1)
	}
	events, _, err := w.Store.AuditPage(t.Context(), w.Account.ID, audit.Filter{}, 1, 1)
	must.NoError(t, err)
	if records[1][13] != events[0].Hash {
		t.Errorf("the seal in the file is %q", records[1][13])
	}
}

// TestAuditFile_Formula checks that no cell of the file begins a formula where a semicolon separates cells, and that
// the metadata are what they were.
func TestAuditFile_Formula(t *testing.T) {
	const name = "x;=cmd|' /C calc'!A0"
	w := newWorld(t)
	v := w.AsUser(t, w.Owner)
	v.Post("/portal/keys", "name", name, "environment", "test", "scopes", "orders:read").Want(t, http.StatusOK)
	body := v.Get("/portal/audit.csv?code=api-key.created").Want(t, http.StatusOK).Body
	if strings.Contains(body, ";=") {
		t.Errorf("the file has a formula: %s", body)
	}
	records, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	must.NoError(t, err)
	var metadata struct{ Name string }
	must.NoError(t, json.Unmarshal([]byte(records[1][12]), &metadata))
	expect.Equal(t, "the name", metadata.Name, name)
}

// TestOverviewDays counts orders of each day by their numbers.
func TestOverviewDays(t *testing.T) {
	w := newWorld(t)
	perDay := []int{3, 0, 5, 1, 0, 0, 2}
	for _, n := range perDay {
		for range n {
			w.Order(t, w.Test, order.MockAuthentic)
		}
		w.Clock.Advance(24 * time.Hour)
	}
	w.Clock.Advance(-24 * time.Hour)
	o, err := w.Service.Overview(t.Context(), w.Viewer.Actor(access.Test, access.Origin{}))
	must.NoError(t, err)
	for i, n := range perDay {
		if got := o.Days[len(o.Days)-len(perDay)+i].Orders; got != int64(n) {
			t.Errorf("day %d has %d orders, want %d", i, got, n)
		}
	}
	if first := o.Days[0].Orders; first != 0 {
		t.Errorf("a day before all orders has %d", first)
	}
}
