package cli

import "strings"

// commands returns all commands, in the order of the help.
func commands() []*command {
	return []*command{
		{
			name: "serve", args: "[--demo[=empty]]", flags: serveFlags, serves: true, run: serve,
			about:   "run the server: integration API, desk, portal, certificates, media, webhook deliveries, housekeeping",
			example: "assay serve --demo",
		},
		{
			name: "healthcheck", args: "[--ready]", flags: healthcheckFlags, run: healthcheck,
			about: "ask the server at --ops-listen on this machine whether it lives, with --ready whether it can serve; " +
				"for containers, which have no other program",
			example: "assay healthcheck --ready --ops-listen 127.0.0.1:9090",
		},
		{
			name: "accounts create", args: "--name N --owner EMAIL [--locale en|ja]", needs: []string{"name", "owner"},
			flags: accountsCreateFlags, begins: true, run: accountsCreate,
			about:   "create an account and its owner",
			example: "assay accounts create --name Acme --owner owner@acme.example",
		},
		{
			name: "accounts list", args: "[--search TEXT] [--limit-rows N]", flags: accountsListFlags,
			run:     withRows(accountsList),
			about:   "list the accounts by name, with credits and keys",
			example: "assay accounts list --search acme",
		},
		{
			name: "accounts reset-password", args: "--email E", needs: []string{"email"}, flags: ofEmail,
			run:     withUser(accountsResetPassword),
			about:   "create a password reset link for an account user",
			example: "assay accounts reset-password --email owner@acme.example",
		},
		{
			name: "accounts reset-second-factor", args: "--email E", needs: []string{"email"}, flags: ofEmail,
			run:     withUser(accountsResetFactor),
			about:   "remove second factor and passkeys of an account user who has lost them",
			example: "assay accounts reset-second-factor --email owner@acme.example",
		},
		{
			name: "keys create",
			args: "--account ID|NAME --env test|live --name N --scopes all|a,b" +
				" [--limit CATEGORY=N]… [--allow-network CIDR]…",
			needs: []string{"account", "env", "name", "scopes"}, flags: keysCreateFlags, run: keysCreate,
			about:   "create an API key",
			example: "assay keys create --account Acme --env test --name shop --scopes all --limit read=600",
		},
		{
			name: "keys list", args: "--account ID|NAME", needs: []string{"account"}, flags: ofAccount, run: keysList,
			about:   "list the API keys of an account",
			example: "assay keys list --account Acme",
		},
		{
			name: "keys revoke", args: "KEY_ID", nargs: 1, run: withApp(keysRevoke),
			about:   "revoke an API key permanently",
			example: "assay keys revoke 0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30",
		},
		{
			name: "credits grant", args: "--account ID|NAME --env test|live --amount N --note T [--id UUID]",
			needs: []string{"account", "env", "note"}, flags: creditsGrantFlags, run: creditsGrant,
			about:   "add credits to a balance; N may be negative",
			example: `assay credits grant --account Acme --env live --amount 500 --note "invoice 2026-11"`,
		},
		{
			name: "staff create", args: "--email E --name N --role reviewer|admin", needs: []string{"email", "name", "role"},
			flags: staffCreateFlags, begins: true, run: staffCreate,
			about:   "create a staff user with a password and a token for the desk API",
			example: `assay staff create --email rei@example.com --name "Rei Mori" --role reviewer`,
		},
		{
			name: "staff list", run: withApp(staffList),
			about:   "list the staff users",
			example: "assay staff list",
		},
		{
			name: "staff reset-password", args: "--email E", needs: []string{"email"}, flags: ofEmail,
			run:     withStaff(staffResetPassword),
			about:   "give a staff user a new password; their token and all browsers are signed out",
			example: "assay staff reset-password --email rei@example.com",
		},
		{
			name: "staff reset-second-factor", args: "--email E", needs: []string{"email"}, flags: ofEmail,
			run:     withStaff(staffResetFactor),
			about:   "remove second factor and passkeys of a staff user who has lost them",
			example: "assay staff reset-second-factor --email rei@example.com",
		},
		{
			name: "catalog import", args: "FILE [--dry-run]", nargs: 1, flags: catalogImportFlags, run: importCatalog,
			about:   "replace the catalog with a YAML or JSON document; - is standard input",
			example: "assay catalog import catalog.yaml --dry-run",
		},
		{
			name: "catalog export", run: withApp(catalogExport),
			about:   "print the catalog as YAML, or as JSON with --json",
			example: "assay catalog export > catalog.yaml",
		},
		{
			name:  "deliveries list",
			args:  "[--account …] [--env …] [--endpoint ID] [--status pending|delivered|failed] [--limit-rows N]",
			flags: deliveriesListFlags, check: deliveriesListCheck, run: withRows(deliveriesList),
			about:   "list webhook deliveries, newest first",
			example: "assay deliveries list --account Acme --status failed",
		},
		{
			name: "deliveries show", args: "DELIVERY_ID", nargs: 1, run: withApp(deliveriesShow),
			about:   "show a webhook delivery with its body and attempts",
			example: "assay deliveries show 0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30",
		},
		{
			name: "deliveries redeliver", args: "DELIVERY_ID | --failed-since TIME [--account …] [--env …] [--endpoint ID]",
			nargs: anyArgs, flags: deliveriesRedeliverFlags, check: deliveriesRedeliverCheck, run: deliveriesRedeliver,
			about:   "resend a finished delivery, or all that failed since a time; delivery ids stay the same",
			example: "assay deliveries redeliver --failed-since 24h --account Acme",
		},
		{
			name: "check", args: "[--deep] [--heads FILE]", flags: checkFlags, run: check,
			about:   "check the database, the ledger, the logs, outcomes, certificates, counters and stored photos",
			example: "assay check --deep --json",
		},
		{
			name: "audit head", run: withApp(auditHead),
			about:   "print number and hash of the newest entry of every log, to be kept elsewhere for check --heads",
			example: "assay audit head --json > heads.json",
		},
		{
			name: "secrets rotate", run: withApp(secretsRotate),
			about:   "seal everything with --secret-key that --secret-key-previous has sealed; servers may be running with both",
			example: "assay secrets rotate --secret-key-file new.key --secret-key-previous-file old.key",
		},
		{
			name: "export", args: "--account ID|NAME DIR", needs: []string{"account"}, nargs: 1, flags: ofAccount,
			run:     export,
			about:   "write all that is known of an account into a new folder: rows as JSON lines, and its photos",
			example: "assay export --account Acme acme-export",
		},
		{
			name: "erase", args: "--account ID|NAME | --order ID [--dry-run]", flags: eraseFlags, run: erase,
			about:   "erase the personal data of an account, or the photos and texts of an order, for good",
			example: "assay erase --account Acme --dry-run --json",
		},
		{
			name: "backup", args: "DIR", nargs: 1, run: withApp(backUp),
			about:   "copy database, photos and generated secrets into an empty directory; the server may be running",
			example: "assay backup /backups/2026-11-15",
		},
		{
			name: "restore", args: "DIR", nargs: 1, run: restore,
			about:   "restore a backup into an empty installation, on either database engine",
			example: "assay restore /backups/2026-11-15 --data data",
		},
		{
			name: "move", flags: moveFlags, remote: true, run: move,
			about: "copy a whole installation into an empty place and prove the copy; stop its servers first. " +
				"When it is interrupted, the same command goes on",
			example: "assay move --from-data data --to-database-file database.url --to-secret-key-file new.key \\\n" +
				"  --to-media 's3://photos?endpoint=https://s3.example.com&region=eu-central-1'",
		},
		{
			name: "verify", args: "FILE|URL [--keys FILE|URL] [--allow-test] [--offline]", nargs: 1, flags: verifyFlags,
			run:     verify,
			about:   "verify a certificate with the keys of its issuer, and look up whether it was revoked",
			example: "assay verify https://assay.example/certificates/mfzwi3lbonswgyltmvrgk43tnfxw4zlb",
		},
		{
			name: "login", args: "[--server URL] [--profile P]", flags: loginFlags, remote: true, run: login,
			about: "keep an API key for the commands that call the integration API: " +
				"that of ASSAY_KEY, or the one on standard input; a file there comes first",
			example: "assay login --server https://assay.example\nassay login --profile live < live.key",
		},
		{
			name: "orders create",
			args: "--category C --brand B [--model M] [--external-id E] [--answer-time N] [--mock OUTCOME]" +
				" --photo INDEX=FILE|URL…",
			needs: []string{"category", "brand"}, flags: ordersCreateFlags, check: ordersCreateCheck, call: ordersCreate,
			about:   "create an order; files are uploaded first",
			example: "assay orders create --category bags --brand prada --mock authentic --photo overall-picture=bag.jpg",
		},
		{
			name: "orders list", args: "[--page N] [--limit N]", flags: ordersListFlags, call: ordersList,
			about:   "list the orders of the key's account and environment, newest first",
			example: "assay orders list --limit 50",
		},
		{
			name: "orders show", args: "ID", nargs: 1, call: ordersShow,
			about:   "show an order by its id or external id",
			example: "assay orders show my-first-order",
		},
		{
			name: "orders watch", args: "ID", nargs: 1, flags: ordersWatchFlags, check: ordersWatchCheck, serves: true,
			call:    ordersWatch,
			about:   "follow an order until it is completed, asks for photos or failed",
			example: "assay orders watch my-first-order",
		},
		{
			name: "orders cancel", args: "ID", nargs: 1, call: ordersCancel,
			about:   "cancel a queued order and get its credits back",
			example: "assay orders cancel my-first-order",
		},
		{
			name: "photos upload", args: "FILE…", nargs: anyArgs, check: photosUploadCheck, call: photosUpload,
			about:   "upload photos and print their managed URLs",
			example: "assay photos upload front.jpg back.jpg",
		},
		{
			name: "balance", call: balance,
			about:   "show the credits of the key's account and environment",
			example: "assay balance",
		},
		{
			name: "webhooks create", args: "--name N --url U --events E,…", needs: []string{"url", "events"},
			flags: webhooksCreateFlags, call: webhooksCreate,
			about:   "register a webhook endpoint; its signing secret is shown once",
			example: "assay webhooks create --name shop --url https://shop.example/assay --events order-outcome,update-photos",
		},
		{
			name: "webhooks list", call: webhooksList,
			about:   "list the webhook endpoints of the key",
			example: "assay webhooks list",
		},
		{
			name: "webhooks delete", args: "ID", nargs: 1, call: webhooksDelete,
			about:   "delete a webhook endpoint and drop its pending deliveries",
			example: "assay webhooks delete 0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30",
		},
		{
			name: "webhooks rotate", args: "ID", nargs: 1, call: webhooksRotate,
			about:   "give a webhook endpoint a new signing secret; the old one stays valid for a while",
			example: "assay webhooks rotate 0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30",
		},
		{
			name: "trigger", args: "ORDER STATE", nargs: 2, choices: map[int][]string{1: simulatedStates},
			check: triggerCheck, call: trigger,
			about: "put a Test order into any state, and send its event: " + strings.Join(simulatedStates, ", "),
			example: "assay orders create --category bags --brand prada --mock authentic --external-id my-first-order \\\n" +
				"  --photo overall-picture=bag.jpg\n" +
				"assay trigger my-first-order update-photos\n" +
				"assay trigger my-first-order error",
		},
		{
			name: "listen", args: "--forward-to URL [--events E,…] [--newest]", needs: []string{"forward-to"},
			flags: listenFlags, check: listenCheck, serves: true, call: listen,
			about: "forward the events of this key to a local address, signed; it goes on where it stopped, and does not wait " +
				"the --test-event-delay of the service",
			example: "assay listen --forward-to http://localhost:3000/webhooks",
		},
		{
			name: "completion", args: "bash|zsh|fish", nargs: 1, plain: true, run: completion,
			about: "print the script that completes commands and flags in a shell",
			example: "source <(assay completion bash)\n" +
				`assay completion zsh > "${fpath[1]}/_assay"` + "\nassay completion fish | source",
		},
		{
			name: "version", plain: true, run: version,
			about: "print version and commit",
		},
		{
			name: "complete", hidden: true, raw: true, run: complete,
			about: "print what can follow",
		},
		{
			name: imagesCommand, hidden: true, plain: true, run: deriveImages,
			about: "decode images for the server",
		},
	}
}
