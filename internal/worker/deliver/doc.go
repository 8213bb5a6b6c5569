// Package deliver sends webhook deliveries.
//
// The queue is in the database: the transaction that changes an order also inserts its deliveries (transactional
// outbox). A Sender reads due deliveries, makes HTTP attempts, and records the results, which removes a delivery from
// the queue or schedules the next attempt. Every event is therefore sent at least once, and more than once only if a
// crash or a database outage prevented a result from being recorded.
//
// # The loop
//
// All decisions are made under one lock (loop.mu), by whoever brings news: the goroutine of an attempt that has ended,
// which then makes the next one itself; that of a database read or write; or run, when a timer fires, deliveries are
// announced, or the sender has to stop. At the same time there are up to Config.InFlight attempts ("slots"), one
// database read and one database write. Results are written in batches: a result waits up to writeDelay for others.
//
// A read is one of two things. A scan finds the queues that have a due delivery and the time at which the next one
// becomes due; it runs when something was queued, at that time, and at least every pollInterval. A fetch reads the
// next deliveries of up to maxQueuesPerRead queues into their buffers, and looks up their endpoints. A queue that
// cannot be read is put off, and the others are read.
//
// # Scheduling
//
// Each endpoint has a queue (endpointQueue). Queues that may have more due deliveries wait in a line. A fetch serves
// the line from its front and puts queues that have more at its end: round robin. Queues with buffered deliveries
// share the slots in the same way, one delivery at a time, with at most maxInFlightPerEndpoint attempts per endpoint.
//
// An endpoint that hangs must not slow down the others. The scheduler therefore tracks the health of endpoints:
// an endpoint is fast if its last response came within slowAfter, slow if not, and unknown before its first attempt.
// The load of a queue is what it has in flight and in its buffer. The quota of a fetch limits it:
//
//   - a fast endpoint may buffer many deliveries, fewer if many endpoints are busy;
//   - an unknown endpoint gets one delivery;
//   - a slow endpoint gets only what it can have in flight;
//   - slow endpoints together use at most half of the slots, slow and unknown ones three quarters.
//
// However many endpoints hang, there is room to try new ones, and a quarter of the slots remains for those that
// respond. If an endpoint becomes slow with deliveries in its buffer, they are released to the queue.
//
// A delivery is held from the fetch until its result is recorded, so that it is not fetched twice.
//
// # Several nodes
//
// On PostgreSQL, several nodes may work on one database. Each queue is leased to one of them, and an attempt starts
// only if the lease outlasts it, with an access token to be fetched and a receiver that is late. Which node should
// lease a queue is decided by rendezvous hashing over the nodes that have recently written a heartbeat (presence);
// queues of other nodes are handed over once nothing of them is held. If a node crashes, its queues go to others when
// the leases end. New deliveries are announced to other nodes with LISTEN/NOTIFY.
package deliver
