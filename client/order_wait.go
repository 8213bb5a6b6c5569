package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PollPolicy says how [Client.WaitForOrder] asks for an order's state. The zero value is a good choice.
type PollPolicy struct {
	Interval    time.Duration // first wait; 5 s by default
	MaxInterval time.Duration // waits grow by half up to this; 1 min by default
	Locale      Locale
}

const (
	defaultPollInterval    = 5 * time.Second
	defaultMaxPollInterval = time.Minute
)

// WaitForOrder reads an order again and again until there is something to do: it is completed, it asks for photos
// (update-photos), or it ended in error. Look at [OrderDetail.Status] to tell which; none of them is a Go error.
// The first read is immediate.
//
// The wait can take as long as the order does. Limit it with the context, and prefer webhooks for many orders. A read
// that fails in spite of the retry policy ends the wait with its error.
func (c *Client) WaitForOrder(ctx context.Context, idOrExternalID string, policy PollPolicy) (*OrderDetail, error) {
	if policy.Interval < 0 || policy.MaxInterval < 0 {
		return nil, errors.New("assay: WaitForOrder: no interval may be negative")
	}
	interval := policy.Interval
	if interval == 0 {
		interval = defaultPollInterval
	}
	longest := policy.MaxInterval
	if longest == 0 {
		longest = max(defaultMaxPollInterval, interval)
	}
	for {
		order, err := c.GetOrder(ctx, idOrExternalID, policy.Locale)
		if err != nil {
			return nil, err
		}
		if order.Status.Final() || order.Status == StatusUpdatePhotos {
			return order, nil
		}
		interval = min(interval, longest)
		if err := c.sleep(ctx, interval); err != nil {
			return nil, fmt.Errorf("assay: waiting for order %s, still %s: %w", order.ID, order.Status, err)
		}
		interval += interval / 2
	}
}
