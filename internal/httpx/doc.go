// Package httpx is the HTTP floor shared by the integration interface and the desk interface: handlers that return an
// error, the one place that turns an error into the error envelope, request ids, the access log, strict JSON bodies and
// query parameters.
//
// The usual order of middleware, outermost first:
//
//	RequestID → AccessLog → Recover → Timeout → routes → Responder.Handle
//
// so that every response has a request id, every request is logged with its final status, and a panic still gets an
// envelope.
package httpx
