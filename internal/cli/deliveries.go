package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/server"
)

// deliveryView is the JSON output for a delivery.
type deliveryView struct {
	ID            string          `json:"id"`
	AccountID     string          `json:"account_id"`
	Environment   string          `json:"environment"`
	EndpointID    string          `json:"endpoint_id"`
	URL           string          `json:"url"`
	OrderID       string          `json:"order_id"`
	Event         webhook.Event   `json:"event"`
	Status        webhook.Status  `json:"status"`
	Attempts      int             `json:"attempts"`
	CreatedAt     wire.Timestamp  `json:"created_at"`
	NextAttemptAt *wire.Timestamp `json:"next_attempt_at"`
	FinishedAt    *wire.Timestamp `json:"finished_at"`
}

type attemptView struct {
	Number     int             `json:"number"`
	At         wire.Timestamp  `json:"at"`
	DurationMS int64           `json:"duration_ms"`
	HTTPStatus int             `json:"http_status"` // 0: no response
	Failure    webhook.Failure `json:"failure"`
	Answer     string          `json:"answer"`
}

func viewDelivery(d *webhook.Delivery) deliveryView {
	return deliveryView{
		ID: d.ID, AccountID: d.AccountID, Environment: string(d.Environment), EndpointID: d.EndpointID, URL: d.EndpointURL,
		OrderID: d.OrderID, Event: d.Event, Status: d.Status, Attempts: d.Attempts, CreatedAt: wire.Timestamp(d.CreatedAt),
		NextAttemptAt: orNull(d.NextAttemptAt), FinishedAt: orNull(d.FinishedAt),
	}
}

func orNull(t time.Time) *wire.Timestamp {
	if t.IsZero() {
		return nil
	}
	return new(wire.Timestamp(t))
}

func deliveryFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.account, "account", "", "`id or name` of the account; empty: all")
	fs.StringVar(&inv.env, "env", "", "test or live; empty: both")
	fs.StringVar(&inv.endpoint, "endpoint", "", "`id` of the endpoint; empty: all")
}

// deliveriesListCheck refuses filters that there are not.
func deliveriesListCheck(inv *invocation) error {
	if inv.env != "" {
		if _, err := inv.environment(); err != nil {
			return err
		}
	}
	statuses := []webhook.Status{"", webhook.Pending, webhook.Delivered, webhook.Failed}
	if !slices.Contains(statuses, webhook.Status(inv.status)) {
		return errors.New("--status must be pending, delivered or failed")
	}
	return nil
}

// deliveryFilter returns the filter selected by the flags.
func (inv *invocation) deliveryFilter(ctx context.Context, app *server.App) (webhook.DeliveryFilter, error) {
	f := webhook.DeliveryFilter{EndpointID: inv.endpoint, Status: webhook.Status(inv.status)}
	f.Environment = access.Environment(inv.env)
	if inv.account != "" {
		a, err := app.Service.FindAccount(ctx, access.Operator, inv.account)
		if err != nil {
			return f, err
		}
		f.AccountID = a.ID
	}
	return f, nil
}

func deliveriesListFlags(fs *flag.FlagSet, inv *invocation) {
	deliveryFlags(fs, inv)
	fs.StringVar(&inv.status, "status", "", "pending, delivered or failed; empty: all")
	bindRows(fs, inv, "deliveries")
}

func deliveriesList(ctx context.Context, inv *invocation, app *server.App) error {
	f, err := inv.deliveryFilter(ctx, app)
	if err != nil {
		return err
	}
	found, err := app.Service.Deliveries(ctx, access.Operator, f, inv.rows+1)
	if err != nil {
		return err
	}
	more := len(found) > inv.rows
	found = found[:min(len(found), inv.rows)]
	views, rows := make([]deliveryView, len(found)), make([][]string, len(found))
	for i, d := range found {
		views[i] = viewDelivery(d)
		rows[i] = []string{
			d.ID, d.CreatedAt.Format(time.RFC3339), string(d.Status), count(d.Attempts, "attempt"), string(d.Event),
			d.EndpointURL,
		}
	}
	headers := []string{"ID", "CREATED", "STATUS", "ATTEMPTS", "EVENT", "URL"}
	if err := inv.table(views, "deliveries", headers, rows); err != nil || !more {
		return err
	}
	return inv.tellCut(fmt.Sprintf("the newest %d deliveries of more", len(rows)),
		"--account, --env, --endpoint and --status")
}

func deliveriesShow(ctx context.Context, inv *invocation, app *server.App) error {
	d, attempts, err := app.Service.Delivery(ctx, access.Operator, inv.args[0])
	if err != nil {
		return err
	}
	view := struct {
		deliveryView
		Body       json.RawMessage `json:"body"`
		AttemptLog []attemptView   `json:"attempt_log"`
	}{viewDelivery(d), json.RawMessage(d.Body), make([]attemptView, len(attempts))}
	var lines strings.Builder
	for i, a := range attempts {
		view.AttemptLog[i] = attemptView{
			a.Number, wire.Timestamp(a.At), a.Duration.Milliseconds(), a.HTTPStatus, a.Failure, a.Answer,
		}
		fmt.Fprintf(&lines, "  attempt %d  %s  %s  %s\n",
			a.Number, a.At.Format(time.RFC3339), a.Duration.Round(time.Millisecond), shown(attemptResult(&attempts[i])))
	}
	return inv.print(view, "%s  %s  %s  %s\n%s%s\n", d.ID, d.Status, d.Event, d.EndpointURL,
		block(lines.String()), string(d.Body))
}

// attemptResult is the status that came back, the reason why it counts as failed, or both.
func attemptResult(a *webhook.Attempt) string {
	switch {
	case a.HTTPStatus == 0:
		return string(a.Failure)
	case a.Failure == "":
		return fmt.Sprintf("status %d", a.HTTPStatus)
	}
	return fmt.Sprintf("status %d, %s", a.HTTPStatus, a.Failure)
}

func deliveriesRedeliverFlags(fs *flag.FlagSet, inv *invocation) {
	deliveryFlags(fs, inv)
	fs.StringVar(&inv.since, "failed-since", "", "`time` as RFC 3339, or how long ago: 90m, 24h")
}

func deliveriesRedeliverCheck(inv *invocation) error {
	if (len(inv.args) == 1) == (inv.since != "") || len(inv.args) > 1 {
		return errors.New("takes one delivery id, or --failed-since")
	}
	if inv.since != "" {
		if _, err := parseSince(inv.since); err != nil {
			return fmt.Errorf("--failed-since %w", err)
		}
	}
	return deliveriesListCheck(inv)
}

func deliveriesRedeliver(ctx context.Context, inv *invocation) error {
	return inv.open(ctx, func(app *server.App) error {
		n := 1
		if inv.since != "" {
			since, err := parseSince(inv.since)
			if err != nil {
				return err
			}
			f, err := inv.deliveryFilter(ctx, app)
			if err != nil {
				return err
			}
			if n, err = app.Service.RedeliverFailed(ctx, access.Operator, f, since); err != nil {
				return err
			}
		} else if err := app.Service.Redeliver(ctx, access.Operator, inv.args[0]); err != nil {
			return err
		}
		return inv.print(map[string]int{"redelivered": n}, "%s queued to be resent\n", count(n, "delivery"))
	})
}

// parseSince reads a moment: a time, or how long ago it was.
func parseSince(text string) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, errors.New("must be a time such as 2026-03-01T09:30:00Z, or how long ago, such as 90m or 24h")
	}
	return at, nil
}
