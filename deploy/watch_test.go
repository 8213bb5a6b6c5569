package deploy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/redistest"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/s3test"
	"github.com/assayhq/assay/internal/testkit/smtptest"
)

// TestWatching holds every metric and label of the alert rules and the dashboard against those of a running program
// that has everything on.
func TestWatching(t *testing.T) {
	requires.Engine(t, "Redis")
	mail := smtptest.Start(t, smtptest.Options{})
	cluster, database := pgtest.ClusterDatabase(t)
	p := program.Start(t, program.Settings{
		"database": database, "database-read": cluster.Replica(t).Same(t, database),
		"secret-key": strings.Repeat("secret", 8), "redis": redistest.Start(t).URL(), "smtp-url": mail.URL(),
		"mail-from": "assay@example.com",
	})
	get(t, "http://"+p.HTTP+"/docs") // so that requests were counted
	queries := expressions(t)
	var real map[string][]string
	var used map[string]bool
	var problems []string
	deadline := time.Now().Add(time.Minute)
	for { // a request is counted when it has been answered; a worker shows what it counts once it runs
		real = parseMetrics(get(t, "http://"+p.Ops+"/metrics"))
		if used, problems = compare(queries, real); len(problems) == 0 || time.Now().After(deadline) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
	for name := range real {
		if strings.HasPrefix(name, "assay_") && !used[name] && !slices.Contains(unwatched, base(name)) &&
			!strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			t.Errorf("nobody watches %s", name)
		}
	}
}

// TestBucketAway: what the proxy and the probes ask is answered 200 while the bucket, which all nodes share, is away,
// and the metrics tell of it.
func TestBucketAway(t *testing.T) {
	bucket := s3test.Start(t)
	p := program.Start(t, program.Settings{"media": bucket.Bucket(t)})
	asked := regexp.MustCompile(`(?m)^\s*(?:health_uri|readinessProbe:\s+httpGet: \{path:) "?(/[^\s"]+)`)
	paths := map[string]int{"/readyz": http.StatusServiceUnavailable}
	for _, file := range []string{"proxy/Caddyfile", "kubernetes/pod.yaml"} {
		match := asked.FindSubmatch(read(t, file))
		if match == nil {
			t.Fatalf("%s asks nothing", file)
		}
		paths[string(match[1])] = http.StatusOK
	}
	bucket.Kill(t)
	for path, want := range paths {
		if code := status(t, "http://"+p.Ops+path); code != want {
			t.Errorf("%s is %d, want %d", path, code, want)
		}
	}
	if metrics := get(t, "http://"+p.Ops+"/metrics"); !strings.Contains(metrics, "\nassay_ready{check=\"media\"} 0\n") {
		t.Error("the metrics say that the bucket is there")
	}
}

// compare returns the metrics that queries use, and what of them is not real.
func compare(queries map[string]string, real map[string][]string) (used map[string]bool, problems []string) {
	used = make(map[string]bool)
	for where, expression := range queries {
		for name, labels := range parseExpression(expression) {
			used[name] = true
			known, ok := real[name]
			if !ok {
				problems = append(problems, fmt.Sprintf("%s: the program has no metric %s", where, name))
				continue
			}
			for _, label := range labels {
				if !slices.Contains(known, label) {
					problems = append(problems, fmt.Sprintf("%s: %s has no label %s", where, name, label))
				}
			}
		}
	}
	return used, problems
}

// unwatched are metrics that are no line of a chart: the first bits of a hash.
var unwatched = []string{"assay_audit_head"}

func base(name string) string { return strings.TrimSuffix(name, "_bucket") }

func TestPromtool(t *testing.T) {
	promtool := requires.Tool(t, "install-deploy-tools", "promtool")
	for _, arguments := range [][]string{
		{"check", "rules", "prometheus/alerts.yaml"},
		{"check", "config", "prometheus/prometheus.yaml"},
		{"test", "rules", "testdata/alerts.yaml"},
	} {
		if output, err := exec.CommandContext(t.Context(), promtool, arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, output)
		}
	}
	// It also parses what the dashboard asks, with Grafana's variables filled in.
	rules := map[string]any{}
	var list []map[string]string
	for where, expression := range expressions(t) {
		if strings.HasPrefix(where, "dashboard") {
			list = append(list, map[string]string{
				"record": "panel:" + strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(where, "_"), "_"),
				"expr":   strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(expression),
			})
		}
	}
	rules["groups"] = []any{map[string]any{"name": "dashboard", "rules": list}}
	text, err := yaml.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "rules", "/dev/stdin")
	cmd.Stdin = strings.NewReader(string(text))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the dashboard: %v\n%s", err, output)
	}
}

// expressions are the queries of the rules and the dashboard by where they are.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, rule := range alerts(t) {
		all["alert "+rule.Alert] = rule.Expr
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "grafana/assay.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all["dashboard "+panel.Title+" "+target.RefID] = target.Expr
		}
	}
	return all
}

type alert struct {
	Alert, Expr string
	Annotations map[string]string
}

// alerts are the rules.
func alerts(t *testing.T) []alert {
	t.Helper()
	var rules struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal(read(t, "prometheus/alerts.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	return rules.Groups[0].Rules
}

// TestRunbook: every alert leads to a section that says what to do, and every such section is of an alert.
func TestRunbook(t *testing.T) {
	_, section, found := strings.Cut(string(read(t, "../docs/operation.md")), "\n### Alerts\n")
	if !found {
		t.Fatal("operation.md has no section on alerts")
	}
	section, _, _ = strings.Cut(section, "\n### ")
	var want, have []string
	for _, a := range alerts(t) {
		want = append(want, a.Alert)
		if link := "docs/operation.md#" + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != link {
			t.Errorf("the runbook of %s is %q, want %q", a.Alert, a.Annotations["runbook_url"], link)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^#### (.+)\n\n\w`).FindAllStringSubmatch(section, -1) {
		have = append(have, heading[1])
	}
	if !slices.Equal(have, want) {
		t.Errorf("operation.md explains %q, want %q", have, want)
	}
}

var (
	metricLine     = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{([^}]*)\})? `)
	labelName      = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	selector       = regexp.MustCompile(`\b((?:assay|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
	ownLabels      = []string{"instance", "job"} // which Prometheus adds
	quotedContents = regexp.MustCompile(`"[^"]*"`)
)

// parseMetrics returns the labels of each metric of an answer of /metrics.
func parseMetrics(text string) map[string][]string {
	names := map[string][]string{}
	for _, match := range metricLine.FindAllStringSubmatch(text, -1) {
		labels := names[match[1]]
		for _, label := range labelName.FindAllStringSubmatch(match[2], -1) {
			labels = append(labels, label[1])
		}
		names[match[1]] = labels
	}
	return names
}

// parseExpression returns the metrics of a query with the labels that select from them.
func parseExpression(expression string) map[string][]string {
	names := map[string][]string{}
	for _, match := range selector.FindAllStringSubmatch(expression, -1) {
		labels := names[match[1]]
		for _, label := range labelName.FindAllStringSubmatch(quotedContents.ReplaceAllString(match[2], `"`), -1) {
			if !slices.Contains(ownLabels, label[1]) {
				labels = append(labels, label[1])
			}
		}
		names[match[1]] = labels
	}
	return names
}

func get(t *testing.T, url string) string {
	t.Helper()
	_, body := answer(t, url)
	return body
}

func status(t *testing.T, url string) int {
	t.Helper()
	code, _ := answer(t, url)
	return code
}

func answer(t *testing.T, url string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return response.StatusCode, string(text)
}
