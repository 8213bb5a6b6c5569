package cli

import (
	"context"
	"flag"
	"fmt"

	"github.com/assayhq/assay/internal/server"
)

func moveCommand() *command {
	m := new(server.Move)
	return &command{
		name: "move",
		about: "copy a whole installation into an empty place and prove the copy; stop its servers first. " +
			"When it is interrupted, the same command goes on",
		example: "assay move --from-data data --to-database-file database.url --to-secret-key-file new.key \\\n" +
			"  --to-media 's3://photos?endpoint=https://s3.example.com&region=eu-central-1'",
		flags:  func(fs *flag.FlagSet, _ *invocation) { m.Bind(fs) },
		remote: true,
		run: func(ctx context.Context, inv *invocation) error {
			m.Say = func(line string) { fmt.Fprintln(inv.progress, line) }
			report, err := m.Run(ctx, inv.logger())
			if err != nil {
				return err
			}
			return inv.print(report, "moved %s, %s, %s (%s); secrets sealed again: %d. "+
				"The copy was checked; the old place is as it was\n",
				count(report.Accounts, "account"), count(report.Orders, "order"), count(report.Photos, "photo"),
				count(report.Rows, "row"), report.Resealed)
		},
	}
}
