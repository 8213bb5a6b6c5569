package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/assayhq/assay/client"
)

func webhooksList(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
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
}

func eventNames(events []client.WebhookEvent) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}
	return names
}

func webhooksCreateFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.name, "name", "", "`name` for yourself")
	fs.StringVar(&inv.url, "url", "", "https `URL` that receives the deliveries")
	fs.StringVar(&inv.events, "events", "", "order-outcome, update-photos, or both separated by a comma")
}

func webhooksCreate(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	created, err := c.CreateWebhook(ctx, client.CreateWebhook{Name: inv.name, URL: inv.url, Events: inv.eventList()})
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "webhook %s created\nsigning secret %s\nThe secret is not shown again.\n",
		created.ID, created.SigningSecret)
}

func (inv *invocation) eventList() []client.WebhookEvent {
	var events []client.WebhookEvent
	for _, name := range strings.FieldsFunc(inv.events, func(r rune) bool { return r == ',' || r == ' ' }) {
		events = append(events, client.WebhookEvent(name))
	}
	return events
}

func webhooksDelete(ctx context.Context, inv *invocation, c *client.Client, _ *lastAnswer) error {
	if err := c.DeleteWebhook(ctx, inv.args[0]); err != nil {
		return err
	}
	return inv.print(map[string]string{"deleted": inv.args[0]}, "webhook %s is deleted\n", inv.args[0])
}

func webhooksRotate(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	rotated, err := c.RotateWebhookSecret(ctx, inv.args[0])
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "signing secret %s\nThe former one is valid until %s.\n",
		rotated.SigningSecret, strings.TrimSpace(stamp(&rotated.PreviousValidUntil)))
}
