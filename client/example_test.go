package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/assayhq/assay/client"
)

// A whole flow with a Test key: choose from the catalog, upload photos, create the order, answer its photo request,
// read the outcome.
func Example() {
	ctx := context.Background()
	service := exampleService() // stands for https://assay.example/v1/integrations
	defer service.Close()

	c, err := client.New(service.URL+"/v1/integrations", "assay_test_...")
	if err != nil {
		log.Fatal(err)
	}

	// What is to be photographed?
	indexes, err := c.ListPhotoIndexes(ctx, client.PhotoIndexesQuery{CategoryCode: "bags", BrandCode: "chanel"})
	if err != nil {
		log.Fatal(err)
	}
	var files []client.File
	var codes []string // of the files
	for _, index := range indexes {
		if index.Required {
			fmt.Println("photo needed:", index.Name)
			codes = append(codes, index.Code)
			files = append(files, client.File{Name: index.Code + ".jpg", Content: strings.NewReader("image data")})
		}
	}

	// Upload. Results come in the order of the files.
	results, err := c.UploadPhotos(ctx, files...)
	if err != nil {
		log.Fatal(err)
	}
	order := client.CreateOrder{
		BrandCode:    "chanel",
		CategoryCode: "bags",
		ExternalID:   "shop/1001",
		MockOutcome:  client.MockUpdatePhotos, // Test keys only
	}
	for i, result := range results {
		if err := result.Err(); err != nil {
			log.Fatal(err)
		}
		order.Photos = append(order.Photos, client.OrderPhoto{URL: result.URL, IndexCode: codes[i]})
	}

	// Create. The key makes the call safe to repeat, here and after a crash.
	created, err := c.CreateOrder(ctx, order, client.WithIdempotencyKey("shop-1001"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created:", *created.OrderNumber, created.Status)

	// Follow it to its end.
	for {
		current, err := c.WaitForOrder(ctx, created.ID, client.PollPolicy{})
		if err != nil {
			log.Fatal(err)
		}
		if current.Status.Final() {
			fmt.Println("final:", current.Status, *current.Outcome)
			return
		}
		var update client.UpdatePhotos
		for _, wanted := range current.PhotosToResubmit {
			fmt.Println("photo wanted:", wanted.Name, *wanted.Condition)
			update.Photos = append(update.Photos, client.UpdatePhoto{IndexCode: wanted.IndexCode, URL: results[0].URL})
		}
		if _, err := c.SubmitUpdatePhotos(ctx, created.ID, update); err != nil {
			log.Fatal(err)
		}
	}

	// Output:
	// photo needed: Overall picture
	// created: AS-7K2M9QXA update-photos
	// photo wanted: Overall picture unclear
	// final: completed authentic
}

// Branch on codes, and read their details from the error.
func ExampleError() {
	refused := func() error {
		return &client.Error{
			StatusCode: 400,
			Code:       client.CodeMissingRequiredPhotoIndexes,
			Message:    "Photos of required indexes are missing.",
			Details:    []byte(`{"missing_index_codes":["serial-number"]}`),
		}
	}

	err := refused()
	var failure *client.Error
	switch {
	case client.IsCode(err, client.CodeNotEnoughCredits):
		fmt.Println("top up the account")
	case client.IsCode(err, client.CodeMissingRequiredPhotoIndexes) && errors.As(err, &failure):
		fmt.Println("take photos of", failure.MissingIndexCodes())
	case client.IsAmbiguous(err):
		fmt.Println("read the state before trying again")
	}
	// Output: take photos of [serial-number]
}

// Go through all orders without handling pages.
func ExampleClient_AllOrders() {
	service := exampleService()
	defer service.Close()
	c, err := client.New(service.URL+"/v1/integrations", "assay_test_...")
	if err != nil {
		log.Fatal(err)
	}
	for order, err := range c.AllOrders(context.Background(), client.OrdersQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(*order.OrderNumber, order.Status)
	}
	// Output:
	// AS-7K2M9QXA queued
	// AS-5T1C8RWB completed
}

// Slow down before the quota is used up.
func ExampleWithResponseHook() {
	service := exampleService()
	defer service.Close()
	c, err := client.New(service.URL+"/v1/integrations", "assay_test_...",
		client.WithResponseHook(func(_ context.Context, r client.Response) {
			if r.RateLimit != nil {
				fmt.Printf("%s %s: %d of %d left\n", r.Method, r.Path, r.RateLimit.Remaining, r.RateLimit.Limit)
			}
		}))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.ListOrders(context.Background(), client.OrdersQuery{}); err != nil {
		log.Fatal(err)
	}
	// Output: GET /v1/integrations/orders: 299 of 300 left
}

// Receive webhooks. The handler verifies each delivery; the function processes each delivery id once.
func ExampleWebhookHandler() {
	const secret = "the signing secret from CreateWebhook"
	processed := map[string]bool{} // in a real program: a table with a unique key

	handler := client.WebhookHandler(secret, func(_ context.Context, d *client.WebhookDelivery) error {
		if processed[d.DeliveryID] {
			return nil // a repeated delivery: acknowledge it
		}
		processed[d.DeliveryID] = true
		switch d.Event {
		case client.EventOrderOutcome:
			fmt.Println("order", *d.ExternalID, "is", *d.Outcome)
		case client.EventUpdatePhotos:
			fmt.Println("order", *d.ExternalID, "wants", len(d.PhotosToResubmit), "photos")
		}
		return nil
	})

	// What the service sends, twice:
	body := `{"webhook_event":"order-outcome","delivery_id":"0198c0de-0000-7000-8000-00000000000d",
		"external_id":"shop/1001","order_number":"AS-7K2M9QXA","created_at":"2026-03-01T10:00:00.000Z",
		"id":"0198c0de-0000-7000-8000-000000000001","status":"completed","outcome":"authentic","outcome_locale":"Authentic",
		"delayed":false,"classification":{},"due_date":null,"updated_at":null,"certificate_url":null}`
	for range 2 {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/hook", strings.NewReader(body))
		timestamp, signature := client.Sign(secret, time.Now(), []byte(body))
		r.Header.Set(client.HeaderTimestamp, timestamp)
		r.Header.Set(client.HeaderSignature, signature)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println("answer", w.Code)
	}
	// Output:
	// order shop/1001 is authentic
	// answer 204
	// answer 204
}

// Verify a delivery in a framework that does not use net/http.
func ExampleVerifySignature() {
	const secret = "the signing secret from CreateWebhook"
	body := []byte(`{"webhook_event":"order-outcome"}`)
	timestamp, signature := client.Sign(secret, time.Now(), body) // from the headers of the delivery

	fmt.Println(client.VerifySignature(secret, timestamp, signature, body, client.DefaultTolerance, time.Now()))
	fmt.Println(client.VerifySignature(secret, timestamp, signature, []byte(`{}`), client.DefaultTolerance, time.Now()))
	// Output:
	// <nil>
	// assay: the webhook signature does not match
}
