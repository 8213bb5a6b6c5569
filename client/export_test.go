package client

// WithRandom fixes the random part of the backoff.
func WithRandom(random func() float64) Option {
	return func(c *Client) error {
		c.random = random
		return nil
	}
}
