package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestIntegratorFlow runs the typical flow of an integrator, over TLS with the self-signed certificate.
func TestIntegratorFlow(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s, a, c := startIntegrator(t, settings)

		answerTime := browseCatalog(t, c)
		endpoint := registerWebhook(t, c, a.Test.ID)
		urls := upload(t, c, 3)
		authentic := orderAuthentic(t, c, urls, answerTime)
		resubmit(t, c, urls)

		orders, err := c.ListOrders(t.Context(), client.OrdersQuery{Limit: 1, Page: 2})
		if err != nil {
			t.Fatal(err)
		}
		if orders.Total != 2 || len(orders.Data) != 1 || orders.Data[0].ID != authentic {
			t.Errorf("second page of one is %+v, want the first of two orders, %s", orders, authentic)
		}
		if got, want := balance(t.Context(), t, c), int64(100_000)-answerTime.Price-4; got != want {
			t.Errorf("the Test balance is %d, want %d", got, want)
		}
		live := s.client(t, a.Live)
		if got := balance(t.Context(), t, live); got != liveCredits {
			t.Errorf("the Live balance is %d, want %d: a Test order is not paid from it", got, liveCredits)
		}
		if _, err := live.GetOrder(t.Context(), authentic); !client.IsCode(err, client.CodeOrderNotFound) {
			t.Errorf("a Live key reads a Test order: %v", err)
		}
		readAudit(t, c, a, endpoint)
		if err := c.DeleteWebhook(t.Context(), endpoint); err != nil {
			t.Error(err)
		}
		if left, err := c.ListWebhooks(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("after the deletion there are %v, %v", left, err)
		}
	})
}

// browseCatalog reads the catalog and returns the fastest answer time.
func browseCatalog(t *testing.T, c *client.Client) client.AnswerTime {
	t.Helper()
	ctx := t.Context()
	if got, err := c.ListCategories(ctx, client.CategoriesQuery{
		BrandCode: "contoso", Locale: client.LocaleJapanese,
	}); err != nil || len(got) != 1 ||
		got[0].NameLocale != "バッグ" {
		t.Errorf("categories of contoso are %+v, %v", got, err)
	}
	brands, err := c.ListBrands(ctx, client.BrandsQuery{CategoryCode: "bags", Search: "ノース"})
	if err != nil || brands.Total != 1 || brands.Data[0].Code != "northwind" {
		t.Fatalf("brands are %+v, %v", brands, err)
	}
	models, err := c.ListModels(ctx, client.ModelsQuery{BrandCode: "northwind", CategoryCode: "bags"})
	if err != nil || models.Total != 1 || models.Data[0].Code != "northwind-tote" {
		t.Fatalf("models are %+v, %v", models, err)
	}
	indexes, err := c.ListPhotoIndexes(ctx, client.PhotoIndexesQuery{
		CategoryCode: "bags", BrandCode: "northwind", ModelCode: "northwind-tote",
	})
	if err != nil || len(indexes) != 2 || !indexes[0].Required || indexes[0].PhotoLimit != 2 {
		t.Fatalf("photo indexes are %+v, %v", indexes, err)
	}
	times, err := c.ListAnswerTimes(ctx, client.AnswerTimesQuery{BrandCode: "northwind", CategoryCode: "bags"})
	if err != nil || len(times) != 2 || !times[0].Available {
		t.Fatalf("answer times are %+v, %v", times, err)
	}
	return times[0]
}

// registerWebhook creates an endpoint and returns its id.
func registerWebhook(t *testing.T, c *client.Client, keyID string) string {
	t.Helper()
	created, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
		URL: "https://127.0.0.1:1999/hook", Events: []client.WebhookEvent{client.EventOrderOutcome}, Name: "shop",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(created.SigningSecret) != 64 || created.APIKeyID != keyID {
		t.Errorf("the endpoint is %+v", created.Webhook)
	}
	return created.ID
}

// orderAuthentic creates an order that ends as authentic, by its external id, and returns its id.
func orderAuthentic(t *testing.T, c *client.Client, urls []string, answerTime client.AnswerTime) string {
	t.Helper()
	draft := tote(urls[0])
	draft.Photos = append(draft.Photos, client.OrderPhoto{URL: urls[1], IndexCode: "logo"})
	draft.ExternalID, draft.AnswerTime, draft.MockOutcome = "bag/1 ä", answerTime.Code, client.MockAuthentic
	created, err := c.CreateOrder(t.Context(), draft)
	if err != nil {
		t.Fatal(err)
	}
	detail, err := c.GetOrder(t.Context(), "bag/1 ä", client.LocaleJapanese)
	if err != nil {
		t.Fatal(err)
	}
	if detail.ID != created.ID || !detail.HasOutcome(client.OutcomeAuthentic) ||
		*detail.Classification.ModelNameLocale != "トート" {
		t.Errorf("the detail by external id is %+v", detail)
	}
	if detail.CertificateURL == nil || !strings.HasPrefix(*detail.CertificateURL, "http") {
		t.Error("an authentic order has no certificate")
	}
	return created.ID
}

// resubmit creates an order that requests photos and answers the request.
func resubmit(t *testing.T, c *client.Client, urls []string) {
	t.Helper()
	draft := tote(urls[0])
	draft.MockOutcome = client.MockUpdatePhotos
	created, err := c.CreateOrder(t.Context(), draft, client.WithIdempotencyKey("second-order"))
	if err != nil {
		t.Fatal(err)
	}
	if repeated, err := c.CreateOrder(t.Context(), draft, client.WithIdempotencyKey("second-order")); err != nil ||
		!repeated.Replayed || repeated.ID != created.ID {
		t.Errorf("the repeated creation is %+v, %v", repeated, err)
	}
	detail, err := c.GetOrder(t.Context(), created.ID)
	if err != nil || detail.Status != client.StatusUpdatePhotos || len(detail.PhotosToResubmit) == 0 {
		t.Fatalf("the order is %+v, %v", detail, err)
	}
	var update client.UpdatePhotos
	for _, wanted := range detail.PhotosToResubmit {
		update.Photos = append(update.Photos, client.UpdatePhoto{IndexCode: wanted.IndexCode, URL: urls[2]})
	}
	if _, err := c.SubmitUpdatePhotos(t.Context(), created.ID, update); err != nil {
		t.Fatal(err)
	}
	if detail, err = c.GetOrder(t.Context(), created.ID); err != nil || detail.Status != client.StatusCompleted {
		t.Errorf("after the submission the order is %+v, %v", detail, err)
	}
	if _, err := c.SubmitUpdatePhotos(t.Context(), created.ID, update); !client.IsCode(err,
		client.CodeOrderNotAwaitingUpdatePhotos) {
		t.Errorf("a second submission: %v", err)
	}
}

func readAudit(t *testing.T, c *client.Client, a *account, endpoint string) {
	t.Helper()
	var codes []client.AuditEventCode
	for event, err := range c.AllAuditEvents(t.Context(), client.AuditQuery{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, event.EventCode)
		if event.EventCode == client.AuditWebhookCreated && (*event.TargetID != endpoint || *event.ActorID != a.Test.ID) {
			t.Errorf("the audit event is %+v", event)
		}
	}
	want := []client.AuditEventCode{client.AuditWebhookCreated, client.AuditAPIKeyCreated, client.AuditAPIKeyCreated}
	if !slices.Equal(codes, want) {
		t.Errorf("audit events are %v, want %v", codes, want)
	}
}
