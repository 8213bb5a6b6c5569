package signin

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
)

// Try counts an attempt to sign in, as every use case does that could be used to guess. The attempts of a test would
// take minutes with passwords. The function that it returns tells of a success.
func (g *SignIn) Try(
	ctx context.Context, from access.Origin, name, userID string,
) (func(context.Context) error, error) {
	a, err := g.throttle.begin(ctx, from, name, userID)
	if err != nil {
		return nil, err
	}
	return a.succeeded, nil
}
