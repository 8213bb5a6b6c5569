package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/progress"
)

// photoFlags collects repeated --photo INDEX=FILE|URL flags.
type photoFlags []client.OrderPhoto

func (p *photoFlags) String() string { return "" }

func (p *photoFlags) Set(s string) error {
	index, from, ok := strings.Cut(s, "=")
	if !ok || index == "" || from == "" {
		return errors.New("must be INDEX=FILE or INDEX=URL, with a photo index of the catalog")
	}
	*p = append(*p, client.OrderPhoto{IndexCode: index, URL: from})
	return nil
}

func ordersCreateFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.order.CategoryCode, "category", "", "`code` of the category")
	fs.StringVar(&inv.order.BrandCode, "brand", "", "`code` of the brand")
	fs.StringVar(&inv.order.ModelCode, "model", "", "`code` of the model")
	fs.StringVar(&inv.order.ExternalID, "external-id", "", "your own `reference`")
	fs.IntVar(&inv.order.AnswerTime, "answer-time", 0, "`minutes`; without it the default of the catalog")
	fs.StringVar((*string)(&inv.order.MockOutcome), "mock", "",
		"Test keys: authentic, fake, unable-to-verify or update-photos")
	fs.Var(&inv.photos, "photo", "`INDEX=FILE` or INDEX=URL; may be repeated")
}

func ordersCreateCheck(inv *invocation) error {
	if len(inv.photos) == 0 {
		return errors.New("--photo is required, at least once")
	}
	return nil
}

func ordersCreate(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	order := inv.order
	order.Photos = slices.Clone(inv.photos)
	var files []string
	for _, p := range order.Photos {
		if !isURL(p.URL) && !slices.Contains(files, p.URL) {
			files = append(files, p.URL)
		}
	}
	uploaded, err := inv.upload(ctx, c, files)
	if err != nil {
		return err
	}
	for i := range order.Photos {
		if url := uploaded[order.Photos[i].URL]; url != "" {
			order.Photos[i].URL = url
		}
	}
	created, err := c.CreateOrder(ctx, order, client.WithIdempotencyKey(client.NewIdempotencyKey()))
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "order %s  %s  %s%s\n",
		created.ID, orEmpty(created.OrderNumber), inv.paint(string(created.Status)), due(created.DueDate))
}

// maxUpload is how many files go into one request.
const maxUpload = 10

// upload uploads files and returns their managed URLs by file.
func (inv *invocation) upload(ctx context.Context, c *client.Client, files []string) (map[string]string, error) {
	urls := make(map[string]string, len(files))
	for part := range slices.Chunk(files, maxUpload) {
		results, err := uploadPart(ctx, c, part)
		if err != nil {
			return nil, err
		}
		for i, result := range results {
			if err := result.Err(); err != nil {
				return nil, fmt.Errorf("%s: %s", part[i], messageOf(err))
			}
			urls[part[i]] = result.URL
		}
	}
	return urls, nil
}

func uploadPart(ctx context.Context, c *client.Client, files []string) ([]client.UploadResult, error) {
	var total int64
	opened := make([]*os.File, len(files))
	for i, name := range files {
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		if info, err := f.Stat(); err == nil {
			total += info.Size()
		}
		opened[i] = f
	}
	done := progress.Begin(ctx, "uploading", progress.Bytes, total)
	contents := make([]client.File, len(files))
	for i, name := range files {
		contents[i] = client.File{Name: filepath.Base(name), Content: progress.Reader(opened[i], done)}
	}
	results, err := c.UploadPhotos(ctx, contents...)
	if refused, ok := errors.AsType[*client.Error](err); ok { // nothing was stored
		err = cmp.Or(refusals(refused.UploadResults()), err)
	}
	return results, err
}

// refusals says of every file that was not stored why.
func refusals(results []client.UploadResult) error {
	var refused []error
	for _, r := range results {
		if err := r.Err(); err != nil {
			refused = append(refused, fmt.Errorf("%s: %s", r.OriginalName, messageOf(err)))
		}
	}
	return errors.Join(refused...)
}

func photosUploadCheck(inv *invocation) error {
	if len(inv.args) == 0 || len(inv.args) > maxUpload {
		return fmt.Errorf("takes 1 to %d files", maxUpload)
	}
	return nil
}

func photosUpload(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	results, err := uploadPart(ctx, c, inv.args)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, r := range results {
		if r.Err() == nil {
			fmt.Fprintf(&lines, "%s  %s\n", shown(r.URL), shown(r.OriginalName))
		}
	}
	return errors.Join(inv.print(answer.json(), "%s", block(lines.String())), refusals(results))
}

func ordersListFlags(fs *flag.FlagSet, inv *invocation) {
	fs.IntVar(&inv.orders.Page, "page", 1, "`number` of the page")
	fs.IntVar(&inv.orders.Limit, "limit", 10, "orders on a page, at most 50")
}

func ordersList(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	page, err := c.ListOrders(ctx, inv.orders)
	if err != nil {
		return err
	}
	rows := make([][]string, len(page.Data))
	for i, o := range page.Data {
		state := string(o.Status)
		if o.Outcome != nil {
			state = string(*o.Outcome)
		}
		rows[i] = []string{o.ID, orEmpty(o.OrderNumber), state, stamp(o.UpdatedAt), orEmpty(o.ExternalID)}
	}
	headers := []string{"ID", "NUMBER", "STATE", "UPDATED", "EXTERNAL ID"}
	return inv.table(answer.json(), "orders", headers, rows)
}

func ordersShow(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	o, err := c.GetOrder(ctx, inv.args[0])
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "%s", inv.describe(o))
}

func ordersWatchFlags(fs *flag.FlagSet, inv *invocation) {
	fs.DurationVar(&inv.interval, "interval", 5*time.Second, "wait between two reads")
}

func ordersWatchCheck(inv *invocation) error {
	if inv.interval < time.Second {
		return errors.New("--interval must be at least 1s")
	}
	return nil
}

func ordersWatch(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	shown := client.OrderStatus("")
	for {
		o, err := c.GetOrder(ctx, inv.args[0])
		if err != nil {
			return err
		}
		if o.Status.Final() || o.Status == client.StatusUpdatePhotos {
			return inv.print(answer.json(), "%s", inv.describe(o))
		}
		if o.Status != shown {
			shown = o.Status
			if err := sayf(inv.Stderr, "%s  %s%s\n", stamp(o.UpdatedAt), o.Status, due(o.DueDate)); err != nil {
				return err
			}
		}
		if err := pause.For(ctx, inv.interval); err != nil {
			return err
		}
	}
}

func ordersCancel(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	canceled, err := c.CancelOrder(ctx, inv.args[0])
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "order %s is canceled\n", canceled.ID)
}

// describe writes an order for people.
func (inv *invocation) describe(o *client.OrderDetail) block {
	var b strings.Builder
	state := func(name, value string) { fmt.Fprintf(&b, "%-12s %s\n", name, inv.paint(value)) }
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, shown(value))
		}
	}
	line("order", o.ID)
	state("status", string(o.Status))
	if o.Outcome != nil {
		state("outcome", string(*o.Outcome))
	}
	line("item", strings.TrimSpace(orEmpty(o.Classification.BrandCode)+" "+orEmpty(o.Classification.CategoryCode)+" "+
		orEmpty(o.Classification.ModelName)))
	if o.DueDate != nil {
		line("due", stamp(o.DueDate))
	}
	line("updated", stamp(o.UpdatedAt))
	for _, reason := range o.OutcomeReasons {
		line("reason", reason)
	}
	line("certificate", orEmpty(o.CertificateURL))
	for i := range o.PhotosToResubmit {
		p := &o.PhotosToResubmit[i]
		line("photo needed", strings.TrimSpace(p.IndexCode+" "+orEmpty(p.Condition)+" "+strings.Join(p.Requirements, " ")))
	}
	return block(b.String())
}

func balance(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	b, err := c.GetBalance(ctx)
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "%s\n", count(int(b.AvailableCredits), "credit"))
}

// colors are those of states on a terminal.
var colors = map[string]string{
	"authentic": "32", "completed": "32", "delivered": "32",
	"fake": "31", "error": "31", "failed": "31",
	"update-photos": "33", "unable-to-verify": "33", "pending": "33", "processing": "36", "queued": "36",
}

// paint colors a state on a terminal, unless NO_COLOR is set.
func (inv *invocation) paint(state string) block {
	color := colors[state]
	if color == "" || !onTerminal(inv.Stdout) || inv.variable("NO_COLOR") != "" {
		return block(shown(state))
	}
	return block("\x1b[" + color + "m" + state + "\x1b[0m")
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

func due(t *time.Time) string {
	if t == nil {
		return ""
	}
	return "  due " + stamp(t)
}

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
