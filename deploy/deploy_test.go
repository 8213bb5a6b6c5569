// Package deploy_test holds the files of this folder against what will read them, as far as that can be had without a
// Docker daemon, a Kubernetes cluster and a running systemd.
package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/requires"
)

var lintFolder string // once it is built

// linter builds the module in the folder lint, once.
var linter = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "assay-lint-")
	if err != nil {
		return "", err
	}
	lintFolder = folder
	path := filepath.Join(folder, "lint")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir, build.Env = "lint", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	build.Stderr = os.Stderr
	return path, build.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if lintFolder != "" {
		_ = os.RemoveAll(lintFolder)
	}
	os.Exit(code)
}

// lint checks a file and decodes what was found in it.
func lint(t *testing.T, kind, file string, found any) {
	t.Helper()
	requires.Engine(t, "modules of Compose, Kubernetes and images")
	path, err := linter()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, kind, file)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", kind, file, err)
	}
	if err := json.Unmarshal(output, found); err != nil {
		t.Fatal(err)
	}
}

// settings are the names of all settings, as variables of the environment.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	result := program.New(t, nil).Run(t, "serve", "--help")
	names := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +--([a-z0-9-]+)`).FindAllStringSubmatch(result.Stdout, -1) {
		names["ASSAY_"+strings.ToUpper(strings.ReplaceAll(match[1], "-", "_"))] = true
	}
	if !names["ASSAY_SHUTDOWN_DELAY"] || !names["ASSAY_DATABASE_FILE"] {
		t.Fatalf("the help shows no settings:\n%s", result.Stdout)
	}
	return names
}

// checkSettings fails for variables that are no settings of the program: it would not tell.
func checkSettings(t *testing.T, where string, variables map[string]string) {
	t.Helper()
	known := settings(t)
	for name := range variables {
		if strings.HasPrefix(name, "ASSAY_") && !known[name] {
			t.Errorf("%s: %s is no setting", where, name)
		}
	}
}

// TestSettingsOfEveryFile looks for variables in all files, also those that have no other test.
func TestSettingsOfEveryFile(t *testing.T) {
	known := settings(t)
	for _, name := range []string{"ASSAY_SITE", "ASSAY_NODES", "ASSAY_OPS_PORT", "ASSAY_IMAGE"} { // of these files alone
		known[name] = true
	}
	variable := regexp.MustCompile(`ASSAY_[A-Z_]+[A-Z]`)
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range variable.FindAllString(string(content), -1) {
			if !known[name] {
				t.Errorf("%s: %s is no setting", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCompose(t *testing.T) {
	requires.Engine(t, "the module of Compose")
	// Secrets are made beside a copy, so that those of a developer stay.
	root := t.TempDir()
	for _, folder := range []string{"compose", "proxy"} {
		if err := os.CopyFS(filepath.Join(root, "deploy", folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	dockerfile, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "deploy", "Dockerfile"), dockerfile, 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := filepath.Join(root, "deploy", "compose", "secrets")
	if err := os.RemoveAll(secrets); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), filepath.Join(root, "deploy", "compose", "make-secrets")).
		CombinedOutput(); err != nil {
		t.Fatalf("make-secrets: %v\n%s", err, output)
	}
	key, err := os.ReadFile(filepath.Join(secrets, "secret-key"))
	if err != nil || len(key) != 64 {
		t.Errorf("the secret key is %q, %v", key, err)
	}
	var project struct {
		Services map[string]struct {
			Environment map[string]string `json:"environment"`
			Grace       string            `json:"stop_grace_period"`
			ReadOnly    bool              `json:"read_only"`
			Ports       []any             `json:"ports"`
			Networks    map[string]any    `json:"networks"`
		} `json:"services"`
		Networks map[string]struct {
			IPAM struct {
				Config []struct {
					Subnet string `json:"subnet"`
				} `json:"config"`
			} `json:"ipam"`
		} `json:"networks"`
	}
	lint(t, "compose", filepath.Join(root, "deploy", "compose", "compose.yaml"), &project)
	for _, name := range []string{"node1", "node2", "node3"} {
		node, ok := project.Services[name]
		if !ok || !node.ReadOnly || len(node.Ports) > 0 || node.Grace != "40s" {
			t.Errorf("%s is %+v", name, node)
		}
		checkSettings(t, name, node.Environment)
		if !strings.Contains(project.Services["proxy"].Environment["ASSAY_NODES"], name+":8080") {
			t.Errorf("the proxy does not know %s", name)
		}
		// Where there are two networks, the proxy may reach the node over the one that is not trusted.
		var shared []string
		for network := range node.Networks {
			if _, ok := project.Services["proxy"].Networks[network]; ok {
				shared = append(shared, fmt.Sprint(project.Networks[network].IPAM.Config))
				delete(node.Networks, network)
			}
		}
		if want := "[{" + node.Environment["ASSAY_TRUSTED_PROXIES"] + "}]"; !slices.Equal(shared, []string{want}) {
			t.Errorf("the proxy reaches %s over %v, want %s", name, shared, want)
		}
		if len(node.Networks) != 1 {
			t.Errorf("%s sends webhooks over %v", name, node.Networks)
		}
	}
}

// TestBuildContext: the secrets of an installation are not sent to who builds the image.
func TestBuildContext(t *testing.T) {
	ignored := strings.Fields(string(read(t, "../.dockerignore")))
	if !slices.Contains(ignored, "deploy/compose/secrets") {
		t.Errorf("the build context leaves out %v only", ignored)
	}
}

func TestKubernetes(t *testing.T) {
	var objects []struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Data map[string]string `json:"data"`
		Spec struct {
			Template struct {
				Spec struct {
					Grace      int `json:"terminationGracePeriodSeconds"`
					Containers []struct {
						Env []struct{ Name, Value string } `json:"env"`
					} `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	lint(t, "kubernetes", "kubernetes", &objects)
	var delay, deployments int
	roles := map[string]bool{}
	for _, o := range objects {
		if o.Kind == "ConfigMap" {
			checkSettings(t, o.Metadata.Name, o.Data)
			delay, _ = strconv.Atoi(strings.TrimSuffix(o.Data["ASSAY_SHUTDOWN_DELAY"], "s"))
		}
	}
	for _, o := range objects {
		if o.Kind != "Deployment" {
			continue
		}
		deployments++
		// The program needs the delay and ten seconds.
		if grace := o.Spec.Template.Spec.Grace; grace < delay+15 || delay == 0 {
			t.Errorf("%s gets %d s to end, its --shutdown-delay is %d s", o.Metadata.Name, grace, delay)
		}
		for _, variable := range o.Spec.Template.Spec.Containers[0].Env {
			for role := range strings.SplitSeq(variable.Value, ",") {
				roles[role] = true
			}
		}
	}
	for _, role := range []string{"api", "desk", "deliver", "images", "housekeeping"} {
		if !roles[role] {
			t.Errorf("no Deployment has the role %s", role)
		}
	}
	if deployments != 3 {
		t.Errorf("there are %d Deployments", deployments)
	}
}

func TestProxy(t *testing.T) {
	caddy := requires.Tool(t, "install-deploy-tools", "caddy")
	cmd := exec.CommandContext(t.Context(), caddy, "validate", "--config", "proxy/Caddyfile", "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "ASSAY_SITE=assay.example.com",
		"ASSAY_NODES=node1:8080 node2:8080 node3:8080")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	// As `caddy fmt` writes it: it exits with 1 otherwise.
	cmd = exec.CommandContext(t.Context(), caddy, "fmt", "proxy/Caddyfile")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the Caddyfile is not formatted: %v\n%s", err, output)
	}
}

// TestSystemd lets systemd read the unit with its drop-ins and judge how much of the machine the service could reach.
func TestSystemd(t *testing.T) {
	analyze := requires.Program(t, "systemd", "systemd-analyze")
	unit, err := os.ReadFile("systemd/assay.service")
	if err != nil {
		t.Fatal(err)
	}
	// It wants to see the program and the files of credentials.
	folder := t.TempDir()
	installed := strings.ReplaceAll(string(unit), "/usr/local/bin/assay", program.Build(t))
	file := filepath.Join(folder, "assay.service")
	dropIns := filepath.Join(folder, "assay.service.d")
	for path, content := range map[string]string{
		file:                                    installed,
		filepath.Join(dropIns, "postgres.conf"): string(read(t, "systemd/postgres.conf")),
		filepath.Join(dropIns, "port-443.conf"): string(read(t, "systemd/port-443.conf")),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput(); err != nil ||
		len(output) > 0 {
		t.Errorf("verify: %v\n%s", err, output)
	}
	// The level goes from 0 to 10; what is below 2 is what it calls OK.
	security := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=20", "--no-pager",
		file)
	if output, err := security.CombinedOutput(); err != nil {
		t.Errorf("security: %v\n%s", err, output)
	}
}
