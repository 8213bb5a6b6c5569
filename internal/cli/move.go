package cli

import (
	"context"
	"flag"
	"fmt"
)

func moveFlags(fs *flag.FlagSet, inv *invocation) { inv.move.Bind(fs) }

func move(ctx context.Context, inv *invocation) error {
	m := &inv.move
	m.Say = func(line string) { fmt.Fprintln(inv.progress, line) }
	report, err := m.Run(ctx, inv.logger())
	if err != nil {
		return err
	}
	return inv.print(report, "moved %s, %s, %s (%s); secrets sealed again: %d. "+
		"The copy was checked; the old place is as it was\n",
		count(report.Accounts, "account"), count(report.Orders, "order"), count(report.Photos, "photo"),
		count(report.Rows, "row"), report.Resealed)
}
