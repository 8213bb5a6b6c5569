package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/assayhq/assay/client"
)

func webhooksList() *command {
	return &command{
		name:    "webhooks list",
		about:   "list the webhook endpoints of the key",
		example: "assay webhooks list",
		remote:  true,
		flags:   remoteFlags,
		run: withRemote(func(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
			endpoints, err := c.ListWebhooks(ctx)
			if err != nil {
				return err
			}
			rows := make([][]string, len(endpoints))
			for i := range endpoints {
				e := &endpoints[i]
				rows[i] = []string{e.ID, orEmpty(e.Name), e.URL, strings.Join(eventNames(e.Events), ",")}
			}
			return inv.table(answer.json(), "webhook endpoints", []string{"ID", "NAME", "URL", "EVENTS"}, rows)
		}),
	}
}

func eventNames(events []client.WebhookEvent) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}
	return names
}

func webhooksCreate() *command {
	return &command{
		name:    "webhooks create",
		args:    "--name N --url U --events E,…",
		about:   "register a webhook endpoint; its signing secret is shown once",
		example: "assay webhooks create --name shop --url https://shop.example/assay --events order-outcome,update-photos",
		needs:   []string{"url", "events"},
		remote:  true,
		flags: func(fs *flag.FlagSet, inv *invocation) {
			remoteFlags(fs, inv)
			fs.StringVar(&inv.name, "name", "", "`name` for yourself")
			fs.StringVar(&inv.url, "url", "", "https `URL` that receives the deliveries")
			fs.StringVar(&inv.events, "events", "", "order-outcome, update-photos, or both separated by a comma")
		},
		run: withRemote(func(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
			created, err := c.CreateWebhook(ctx, client.CreateWebhook{Name: inv.name, URL: inv.url, Events: inv.eventList()})
			if err != nil {
				return err
			}
			return inv.print(answer.json(), "webhook %s created\nsigning secret %s\nThe secret is not shown again.\n",
				created.ID, created.SigningSecret)
		}),
	}
}

func (inv *invocation) eventList() []client.WebhookEvent {
	var events []client.WebhookEvent
	for _, name := range strings.FieldsFunc(inv.events, func(r rune) bool { return r == ',' || r == ' ' }) {
		events = append(events, client.WebhookEvent(name))
	}
	return events
}

func webhooksDelete() *command {
	return &command{
		name:    "webhooks delete",
		args:    "ID",
		about:   "delete a webhook endpoint and drop its pending deliveries",
		example: "assay webhooks delete 0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30",
		nargs:   1,
		remote:  true,
		flags:   remoteFlags,
		run: withRemote(func(ctx context.Context, inv *invocation, c *client.Client, _ *lastAnswer) error {
			if err := c.DeleteWebhook(ctx, inv.args[0]); err != nil {
				return err
			}
			return inv.print(map[string]string{"deleted": inv.args[0]}, "webhook %s is deleted\n", inv.args[0])
		}),
	}
}

func webhooksRotate() *command {
	return &command{
		name:    "webhooks rotate",
		args:    "ID",
		about:   "give a webhook endpoint a new signing secret; the old one stays valid for a while",
		example: "assay webhooks rotate 0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30",
		nargs:   1,
		remote:  true,
		flags:   remoteFlags,
		run: withRemote(func(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
			rotated, err := c.RotateWebhookSecret(ctx, inv.args[0])
			if err != nil {
				return err
			}
			return inv.print(answer.json(), "signing secret %s\nThe former one is valid until %s.\n",
				rotated.SigningSecret, strings.TrimSpace(stamp(&rotated.PreviousValidUntil)))
		}),
	}
}
