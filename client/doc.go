// Package client is the Go client for integrators of an Assay item authentication service.
//
// It depends on the standard library alone and covers every operation of the integration API: the catalog,
// photo upload, quotes, orders, photo updates, events, the credit balance, audit events and webhook endpoints. It also
// has the receiving side of webhooks: [ParseWebhook], [WebhookHandler] and [VerifySignature].
//
// # Getting started
//
// A [Client] needs the base URL of the service, which includes the prefix /v1/integrations, and an API key:
//
//	c, err := client.New("https://assay.example/v1/integrations", os.Getenv("ASSAY_KEY"))
//
// A Client is safe for concurrent use. Create one and reuse it: it has the connection pool.
//
// # The flow of an order
//
//  1. Choose codes from the catalog: [Client.ListBrands], [Client.ListModels], [Client.ListAnswerTimes],
//     [Client.ListPhotoIndexes]. Codes are opaque. Send them exactly as they were returned.
//  2. Upload the photos with [Client.UploadPhotos] and keep the returned URLs.
//  3. Create the order with [Client.CreateOrder], best with an idempotency key: [WithIdempotencyKey].
//  4. Follow it with webhooks, or with [Client.WaitForOrder]. An order in [StatusUpdatePhotos] needs the photos
//     listed in [OrderDetail.PhotosToResubmit]: answer with [Client.SubmitUpdatePhotos], then continue waiting.
//
// Test keys create simulated orders: [CreateOrder.MockOutcome] chooses the result. Live keys must leave it empty.
//
// # Errors
//
// Every answer that is not a success is an [*Error] with the HTTP status, the stable code, the details and the
// request id to quote to support. Branch on the code, never on the message:
//
//	order, err := c.CreateOrder(ctx, request, client.WithIdempotencyKey(key))
//	if client.IsCode(err, client.CodeNotEnoughCredits) {
//		// top up, then try again
//	}
//
// The error's methods read the details of the codes that have some, for example [Error.ValidationProblems] and
// [Error.MissingIndexCodes]. An answer that does not come from the service, such as a proxy's HTML page, is an *Error
// too; it has no code, wraps [ErrUnexpectedAnswer], and holds the beginning of the answer in Body.
//
// # Retries
//
// Reads and [Client.GetQuote] are repeated after 429, 5xx and transport failures, with capped exponential backoff and
// jitter; a Retry-After header is honoured. [WithRetry] changes the policy, [WithoutRetry] turns it off. Writes are
// sent once, with one exception: [Client.CreateOrder] with an idempotency key, which the service makes safe to repeat.
// After any other failed write, [IsAmbiguous] reports whether the service may have carried it out, so that the state
// has to be read before another attempt.
//
// # Limits
//
// [WithResponseHook] reports every answer with its rate-limit state. Answers are read up to a size limit
// ([WithMaxAnswerBytes]), and redirects are not followed, because the API has none.
package client
