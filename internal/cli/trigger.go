package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/enum"
)

// simulatedStates are the names of the states of Test orders.
var simulatedStates = enum.Names(client.SimulatedStates)

func triggerCheck(inv *invocation) error {
	if !slices.Contains(simulatedStates, inv.args[1]) {
		return fmt.Errorf("%q is not a state: %s", inv.args[1], strings.Join(simulatedStates, ", "))
	}
	return nil
}

func trigger(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	moved, err := c.SimulateOrder(ctx, inv.args[0], client.SimulatedState(inv.args[1]))
	if err != nil {
		return err
	}
	o, err := c.GetOrder(ctx, moved.ID)
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "%s", inv.describe(o))
}
