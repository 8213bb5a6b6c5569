package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/enum"
)

func triggerCommand() *command {
	states := enum.Names(client.SimulatedStates)
	return &command{
		name:  "trigger",
		args:  "ORDER STATE",
		about: "put a Test order into any state, and send its event: " + strings.Join(states, ", "),
		example: "assay orders create --category bags --brand prada --mock authentic --external-id my-first-order \\\n" +
			"  --photo overall-picture=bag.jpg\n" +
			"assay trigger my-first-order update-photos\n" +
			"assay trigger my-first-order error",
		nargs:   2,
		choices: map[int][]string{1: states},
		remote:  true,
		flags:   remoteFlags,
		run: withRemote(func(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
			if !slices.Contains(states, inv.args[1]) {
				return fmt.Errorf("%q is not a state: %s", inv.args[1], strings.Join(states, ", "))
			}
			moved, err := c.SimulateOrder(ctx, inv.args[0], client.SimulatedState(inv.args[1]))
			if err != nil {
				return err
			}
			o, err := c.GetOrder(ctx, moved.ID)
			if err != nil {
				return err
			}
			return inv.print(answer.json(), "%s", inv.describe(o))
		}),
	}
}
