package program_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assayhq/assay/internal/testkit/program"
)

// standIn makes this test binary act as the program, so that what is tested here is the helper alone.
const standIn = "PROGRAM_TEST_STAND_IN"

func TestMain(m *testing.M) {
	if os.Getenv(standIn) != "" {
		os.Exit(actAsProgram(os.Args[1:]))
	}
	for name, value := range map[string]string{
		standIn:          "1",
		program.Variable: os.Args[0],
		"ASSAY_DATABASE": "postgres://of-the-developer",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func actAsProgram(arguments []string) int {
	switch command := strings.Join(arguments, " "); command {
	case "serve", "serve --demo":
		return serve()
	case "serve --stubborn":
		fmt.Fprintln(os.Stderr, "settings are wrong")
		return 4
	case "settings --json":
		settings := map[string]string{}
		for _, variable := range os.Environ() {
			if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ASSAY_") {
				settings[name] = value
			}
		}
		_ = json.NewEncoder(os.Stdout).Encode(settings)
		return 0
	default:
		fmt.Println("some output")
		fmt.Fprintln(os.Stderr, "unknown command", command)
		return 3
	}
}

// serve announces one real listener between log lines and runs until a signal comes.
func serve() int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	listener, err := net.Listen("tcp", os.Getenv("ASSAY_LISTEN"))
	if err != nil {
		return 1
	}
	fmt.Fprintln(os.Stderr, `{"msg":"not listening http=nowhere tls=- ops=-"}`)
	fmt.Fprintln(os.Stdout, "process", os.Getpid())
	fmt.Fprintf(os.Stderr, "listening http=%s tls=- ops=127.0.0.1:9\n", listener.Addr())
	fmt.Fprintln(os.Stderr, "serving")
	<-signals
	fmt.Fprintln(os.Stderr, "stopped in order")
	if os.Getenv("ASSAY_LOG_FORMAT") == "broken" {
		return 7
	}
	return 0
}

func TestStart_Addresses(t *testing.T) {
	process := program.Start(t, nil, "--demo")
	connection, err := net.Dial("tcp", process.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
	if process.TLS != "" {
		t.Errorf("TLS is off, its address is %q, want none", process.TLS)
	}
	if process.Ops != "127.0.0.1:9" {
		t.Errorf("ops address %q, want 127.0.0.1:9", process.Ops)
	}
	if got, want := process.URL("/x"), "http://"+process.HTTP+"/x"; got != want {
		t.Errorf("URL %q, want %q", got, want)
	}
}

func TestProcess_Stdout(t *testing.T) {
	process := program.Start(t, nil)
	process.Stop(t)
	if got, want := process.Stdout(), fmt.Sprintln("process", process.PID()); got != want {
		t.Errorf("standard output %q, want %q", got, want)
	}
}

func TestProcess_Stop(t *testing.T) {
	process := program.Start(t, nil)
	if code := process.Stop(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if !strings.Contains(process.Stderr(), "stopped in order") {
		t.Errorf("standard error lacks the last line:\n%s", process.Stderr())
	}
}

func TestProcess_StopExitCode(t *testing.T) {
	if code := program.Start(t, program.Settings{"log-format": "broken"}).Stop(t); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

func TestProcess_KillAndStartAgain(t *testing.T) {
	installation := program.New(t, nil)
	first := installation.Start(t)
	first.Kill(t)
	if connection, err := net.Dial("tcp", first.HTTP); err == nil {
		_ = connection.Close()
		t.Error("a killed server accepts connections")
	}
	if strings.Contains(first.Stderr(), "stopped in order") {
		t.Error("a killed server stopped in order")
	}
	if second := installation.Start(t); second.Installation() != installation {
		t.Error("the second server has another installation")
	}
}

func TestInstallation_Settings(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	installation := program.New(t, program.Settings{"data": data, "webhook-retry-delays": "1s,2s", "tls-listen": ""})
	var settings map[string]string
	installation.CLI(t, &settings, "settings")
	want := map[string]string{
		"ASSAY_DATA":                 data,
		"ASSAY_LISTEN":               "127.0.0.1:0",
		"ASSAY_TLS_LISTEN":           "",
		"ASSAY_OPS_LISTEN":           "127.0.0.1:0",
		"ASSAY_TEST_EVENT_DELAY":     "0s",
		"ASSAY_WEBHOOK_RETRY_DELAYS": "1s,2s",
	}
	if fmt.Sprint(settings) != fmt.Sprint(want) {
		t.Errorf("settings\n%v, want\n%v", settings, want)
	}
}

func TestInstallation_Run(t *testing.T) {
	got := program.New(t, nil).Run(t, "nonsense", "--flag")
	want := program.Result{Stdout: "some output\n", Stderr: "unknown command nonsense --flag\n", ExitCode: 3}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
