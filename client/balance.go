package client

import "context"

// Balance is the credit balance of the account, in the environment of the API key.
type Balance struct {
	AvailableCredits int64 `json:"availableCredits"`
}

type balanceAnswer struct {
	AvailableCredits *int64 `json:"availableCredits"`
}

func (a *balanceAnswer) missing() string {
	if a.AvailableCredits == nil {
		return "availableCredits"
	}
	return ""
}

// GetBalance returns the credits that orders can be paid from.
func (c *Client) GetBalance(ctx context.Context) (*Balance, error) {
	answer, err := read[balanceAnswer](ctx, c, "/balance", nil)
	if err != nil {
		return nil, err
	}
	return &Balance{AvailableCredits: *answer.AvailableCredits}, nil
}
