package partition

// EventsGone is the statement with which keys remember that a part is dropped.
func EventsGone(part string) string { return eventsGone(part) }
