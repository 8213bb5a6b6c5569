package store

import "fmt"

// UnreadableOrder is the error of an order whose stored form is broken.
type UnreadableOrder struct {
	ID    string
	cause error
}

func (e *UnreadableOrder) Error() string {
	return fmt.Sprintf("order %s cannot be read: %v", e.ID, e.cause)
}

// Unwrap returns what is wrong with the stored form.
func (e *UnreadableOrder) Unwrap() error { return e.cause }

// readable names the order of an error in its stored form; nil is none.
func readable(orderID string, err error) error {
	if err == nil {
		return nil
	}
	return &UnreadableOrder{ID: orderID, cause: err}
}
