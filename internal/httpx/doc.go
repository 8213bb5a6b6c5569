// Package httpx is what the integration API and the desk API share about HTTP: handlers that return an error, the one
// place that turns an error into the error envelope, request ids, the access log and time limits. Package input reads
// JSON bodies and query parameters, package formdata uploads.
//
// The order of middleware, outermost first:
//
//	LimitBodies → RequestID → Redact → AccessLog → Recover → Responder.Handle
//
// so that every response has a request id, every request is logged with its final status, and a panic still gets an
// envelope.
package httpx
