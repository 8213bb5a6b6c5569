package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store/uuid7"
)

func accountsCreateFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.name, "name", "", "`name` of the account")
	fs.StringVar(&inv.owner, "owner", "", "`email` of its owner")
	fs.StringVar(&inv.locale, "locale", "en", "en or ja: the language of webhook payloads and mail")
}

func accountsCreate(ctx context.Context, inv *invocation) error {
	locale, ok := text.ParseLocale(inv.locale)
	if !ok {
		return wrongCall("--locale must be en or ja")
	}
	if _, err := service.CheckNewAccount(inv.name, inv.owner, locale); err != nil {
		return err
	}
	return inv.open(ctx, func(app *server.App) error {
		n, err := app.Service.CreateAccount(ctx, access.Operator, inv.name, inv.owner, locale)
		if err != nil {
			return err
		}
		return inv.print(struct {
			AccountID string `json:"account_id"`
			UserID    string `json:"user_id"`
			Email     string `json:"email"`
			Password  string `json:"password"`
		}{n.Account.ID, n.Owner.ID, n.Owner.Email, n.Password},
			"account %s created\nowner %s (%s)\npassword %s\nThe password is not shown again.\n",
			n.Account.ID, n.Owner.Email, n.Owner.ID, n.Password)
	})
}

func accountsListFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.search, "search", "", "part of a `name` or an email")
	bindRows(fs, inv, "accounts")
}

func accountsList(ctx context.Context, inv *invocation, app *server.App) error {
	accounts, total, err := app.Service.Accounts(ctx, access.Operator, inv.search, 1, inv.rows)
	if err != nil {
		return err
	}
	views, rows := make([]accountView, len(accounts)), make([][]string, len(accounts))
	for i := range accounts {
		a := &accounts[i]
		views[i] = accountView{
			a.ID, a.Name, string(a.Locale), a.LiveCredits, a.TestCredits, a.LiveOrders, a.ActiveKeys,
		}
		rows[i] = []string{
			a.ID, a.Name, strconv.FormatInt(a.LiveCredits, 10), strconv.FormatInt(a.LiveOrders, 10),
			strconv.FormatInt(a.ActiveKeys, 10),
		}
	}
	headers := []string{"ID", "NAME", "LIVE CREDITS", "LIVE ORDERS", "KEYS"}
	if err := inv.table(views, "accounts", headers, rows); err != nil || int64(len(rows)) == total {
		return err
	}
	return inv.tellCut(fmt.Sprintf("%d of %d accounts", len(rows), total), "--search")
}

// accountView is the JSON output for an account.
type accountView struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Locale      string `json:"locale"`
	LiveCredits int64  `json:"live_credits"`
	TestCredits int64  `json:"test_credits"`
	LiveOrders  int64  `json:"live_orders"`
	ActiveKeys  int64  `json:"active_keys"`
}

const maxListed = 1000

func bindRows(fs *flag.FlagSet, inv *invocation, what string) {
	fs.IntVar(&inv.rows, "limit-rows", 50, "maximum `number` of "+what)
}

// tellCut says on standard error that a list goes on, and how to see the rest.
func (inv *invocation) tellCut(listed, filters string) error {
	rest := "--limit-rows shows more"
	if inv.rows == maxListed {
		rest = "find others with " + filters
	}
	_, err := fmt.Fprintf(inv.Stderr, "%s; %s\n", listed, rest)
	return err
}

// withRows is withApp for a command with --limit-rows.
func withRows(
	f func(context.Context, *invocation, *server.App) error,
) func(context.Context, *invocation) error {
	return func(ctx context.Context, inv *invocation) error {
		if inv.rows < 1 || inv.rows > maxListed {
			return wrongCall("--limit-rows must be from 1 to %d", maxListed)
		}
		return withApp(f)(ctx, inv)
	}
}

func accountsResetPassword(ctx context.Context, inv *invocation, app *server.App, user *access.User) error {
	_, link, err := app.Service.ResetUserPassword(ctx, access.Operator, user.AccountID, user.ID)
	if err != nil {
		return err
	}
	mailed := "Send it through a channel you trust."
	if app.Service.SendsMail() {
		mailed = "It is also being sent by mail."
	}
	return inv.print(struct {
		UserID string `json:"user_id"`
		Email  string `json:"email"`
		Link   string `json:"link"`
		Mailed bool   `json:"mailed"`
	}{user.ID, user.Email, link, app.Service.SendsMail()},
		"link for %s\n%s\nIt can be used once within one day and is not shown again. %s\n", user.Email, link, mailed)
}

// limitFlags collects repeated --limit CATEGORY=N flags.
type limitFlags map[string]int

func (l *limitFlags) String() string { return "" }

func (l *limitFlags) Set(s string) error {
	category, number, ok := strings.Cut(s, "=")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || !slices.Contains(ratelimit.Categories, category) {
		return fmt.Errorf("must be CATEGORY=N with N at least 1 and one of the categories %s",
			strings.Join(ratelimit.Categories, ", "))
	}
	if *l == nil {
		*l = make(limitFlags)
	}
	(*l)[category] = n
	return nil
}

// networkFlags collects repeated --allow-network CIDR flags.
type networkFlags []string

func (n *networkFlags) String() string { return "" }

func (n *networkFlags) Set(s string) error {
	if _, problem := access.CheckNetworks("allow-network", append(*n, s)); problem != nil {
		return errors.New(problem.Message)
	}
	*n = append(*n, s)
	return nil
}

// networks parses the flags, which Set has validated.
func (n networkFlags) networks() access.Networks {
	networks, _ := access.CheckNetworks("allow-network", n)
	return networks
}

func keysCreateFlags(fs *flag.FlagSet, inv *invocation) {
	ofAccount(fs, inv)
	fs.StringVar(&inv.env, "env", "", "test or live")
	fs.StringVar(&inv.name, "name", "", "`name` of the key")
	fs.StringVar(&inv.scopes, "scopes", "",
		"all, or a comma-separated list of orders:read, orders:write, webhooks:manage, audit:read")
	fs.Var(&inv.limits, "limit",
		"`CATEGORY=N`: requests per minute in a category, instead of the default; may be repeated")
	fs.Var(&inv.networks, "allow-network",
		"`CIDR`: network or address that the key may be used from (default: any); may be repeated")
}

func keysCreate(ctx context.Context, inv *invocation) error {
	env, err := inv.environment()
	if err != nil {
		return err
	}
	scopes, err := access.ParseScopes(inv.scopes)
	if err != nil {
		return wrongCall("--scopes: %w", err)
	}
	return inv.withAccount(ctx, func(app *server.App, a *access.Account) error {
		k, secret, err := app.Service.CreateKey(ctx, access.Operator, service.NewKey{
			Tenant: access.Tenant{AccountID: a.ID, Environment: env}, Name: inv.name, Scopes: scopes, Limits: inv.limits,
			Networks: inv.networks.networks(),
		})
		if err != nil {
			return err
		}
		return inv.print(struct {
			ID          string             `json:"id"`
			Key         string             `json:"key"`
			Environment access.Environment `json:"environment"`
			Scopes      []access.Scope     `json:"scopes"`
		}{k.ID, secret, k.Environment, k.Scopes}, "key %s created\n%s\nThe key is not shown again.\n", k.ID, secret)
	})
}

// keyView is the JSON output for a key.
type keyView struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Environment access.Environment `json:"environment"`
	Hint        string             `json:"hint"`
	Scopes      []access.Scope     `json:"scopes"`
	Limits      map[string]int     `json:"limits"`
	Networks    []string           `json:"networks"` // empty: any
	CreatedAt   wire.Timestamp     `json:"created_at"`
	ExpiresAt   *wire.Timestamp    `json:"expires_at"`
	RevokedAt   *wire.Timestamp    `json:"revoked_at"`
}

func viewKey(k *access.Key) keyView {
	return keyView{
		ID: k.ID, Name: k.Name, Environment: k.Environment, Hint: k.Hint, Scopes: k.Scopes, Limits: k.Limits,
		Networks: k.Networks.Texts(), CreatedAt: wire.Timestamp(k.CreatedAt), ExpiresAt: wire.OptionalTimestamp(k.ExpiresAt),
		RevokedAt: wire.OptionalTimestamp(k.RevokedAt),
	}
}

func keysList(ctx context.Context, inv *invocation) error {
	return inv.withAccount(ctx, func(app *server.App, a *access.Account) error {
		keys, err := app.Service.Keys(ctx, access.Operator, a.ID)
		if err != nil {
			return err
		}
		now := time.Now()
		views, rows := make([]keyView, len(keys)), make([][]string, len(keys))
		for i, k := range keys {
			views[i] = viewKey(k)
			state := "expired"
			switch {
			case k.RevokedAt != nil:
				state = "revoked"
			case k.UsableAt(now):
				state = "active"
			}
			rows[i] = []string{
				k.ID, string(k.Environment), "…" + k.Hint, state, k.Name, access.JoinScopes(k.Scopes), k.Networks.String(),
			}
		}
		headers := []string{"ID", "ENV", "KEY", "STATE", "NAME", "SCOPES", "NETWORKS"}
		return inv.table(views, "keys", headers, rows)
	})
}

func keysRevoke(ctx context.Context, inv *invocation, app *server.App) error {
	k, err := app.Service.RevokeKey(ctx, access.Operator, inv.args[0])
	if errors.Is(err, access.KeyNotFound) {
		return fmt.Errorf("there is no key with the id %q", inv.args[0])
	}
	if err != nil {
		return err
	}
	return inv.print(viewKey(k), "key %s (%s) is revoked\n", k.ID, k.Name)
}

func creditsGrantFlags(fs *flag.FlagSet, inv *invocation) {
	ofAccount(fs, inv)
	fs.StringVar(&inv.env, "env", "", "test or live")
	fs.Func("amount", "`credits` to add; negative to subtract", func(value string) (err error) {
		if inv.amount, err = strconv.ParseInt(value, 0, 64); err != nil {
			err = fmt.Errorf("%q is not a whole number from -%[2]d to %[2]d", value, int64(credit.MaxCredits))
		}
		return err
	})
	fs.StringVar(&inv.note, "note", "", "`reason`, stored in the ledger")
	fs.StringVar(&inv.id, "id", "", "`UUID` of the ledger entry: repeated with it, a grant is made once")
}

func creditsGrant(ctx context.Context, inv *invocation) error {
	if inv.amount == 0 {
		return wrongCall("--amount is required and must not be 0")
	}
	env, err := inv.environment()
	if err != nil {
		return err
	}
	id := uuid7.New()
	if inv.id != "" {
		var ok bool
		if id, ok = uuid7.Parse(inv.id); !ok {
			return wrongCall("--id must be a UUID")
		}
	}
	return inv.withAccount(ctx, func(app *server.App, a *access.Account) error {
		t := access.Tenant{AccountID: a.ID, Environment: env}
		balance, err := app.Service.GrantCreditsOnce(ctx, access.Operator, t, id, inv.amount, inv.note)
		switch code := fault.CodeOf(err); {
		case code == credit.CodeNotEnough && inv.amount < 0:
			return fmt.Errorf("--amount %d: the balance would become negative", inv.amount)
		case code == credit.CodeNotEnough:
			return fmt.Errorf("--amount %d: the balance would become larger than %d", inv.amount, int64(credit.MaxCredits))
		case err != nil && (code == "" || code == fault.CodeUnavailable): // its commit may have succeeded
			return fmt.Errorf("%w; it may have been done: repeat it with --id %s, which does it once", err, id)
		case err != nil:
			return err
		}
		return inv.print(map[string]int64{"balance": balance}, "balance %d\n", balance)
	})
}

// environment parses --env.
func (inv *invocation) environment() (access.Environment, error) {
	env, ok := access.ParseEnvironment(inv.env)
	if !ok {
		return "", wrongCall("--env must be test or live")
	}
	return env, nil
}

// ofAccount adds the flag that names an account.
func ofAccount(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.account, "account", "", "`id or name` of the account")
}

// withAccount opens the installation and finds the account of --account while f runs.
func (inv *invocation) withAccount(ctx context.Context, f func(*server.App, *access.Account) error) error {
	return inv.open(ctx, func(app *server.App) error {
		a, err := app.Service.FindAccount(ctx, access.Operator, inv.account)
		if err != nil {
			return err
		}
		return f(app, a)
	})
}
