package e2e_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/internal/testkit/program"
)

var updateAnswers = flag.Bool("update", false, "rewrite testdata/answers from the answers of the program on SQLite")

// answersFolder has one golden file for each chapter, the same for both database engines.
const answersFolder = "testdata/answers"

// unrecorded are the documented codes that need a race, a broken server, very many orders or a limit that is not set by
// default; other tests provoke them.
var unrecorded = []string{
	"request-in-progress", "internal-error", "service-unavailable", "claim-limit-reached", "storage-limit-reached",
}

// TestAnswers drives every operation of the program in a fixed order and compares all answers, byte for byte, with the
// golden files: the integration API, the desk API, webhook deliveries, commands, certificates and photos. Only what
// differs in every run, such as ids and times, is replaced by placeholders. After an intended change rewrite the files
// with `go test -tags nodynamic ./test/e2e -run TestAnswers -update` and read the diff.
func TestAnswers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		onSQLite := settings["database"] == ""
		r := newRecorder(t, settings)
		r.recordCommands()
		r.recordCatalog()
		r.recordAccess()
		r.recordPhotos()
		r.recordWebhooks()
		r.recordTestOrders()
		r.recordOrderRefusals()
		r.recordLiveOrders()
		r.recordDeskLists()
		r.recordDeskRefusals()
		r.recordPublic()
		r.recordAudit()
		r.recordProof()
		r.recordAdditions()
		r.recordUnsafeWebhooks()

		r.checkCoverage(r.integration)
		r.checkCoverage(r.desk)
		if *updateAnswers {
			if onSQLite {
				r.write()
			}
			return
		}
		r.compare()
	})
}

// checkCoverage checks that every documented answer is in the recording.
func (r *recorder) checkCoverage(v *apitest.Validator) {
	r.t.Helper()
	for _, missing := range v.Coverage().Missing {
		rateLimited := missing.Code == "rate-limit-exceeded" && missing.Operation != "getBalance"
		// The desk's networks refuse every operation alike; the tests of the desk API provoke it.
		outside := v == r.desk && missing.Code == "forbidden" && missing.Operation != "cancelOrder"
		if !rateLimited && !outside && !slices.Contains(unrecorded, missing.Code) {
			r.t.Errorf("not recorded: %s", missing)
		}
	}
}

func (r *recorder) write() {
	r.t.Helper()
	for name, c := range r.chapters {
		if err := os.WriteFile(goldenFile(name), []byte(c.text.String()), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *recorder) compare() {
	r.t.Helper()
	files, err := filepath.Glob(goldenFile("*"))
	if err != nil {
		r.t.Fatal(err)
	}
	if len(files) != len(r.chapters) {
		r.t.Errorf("there are %d golden files and %d chapters", len(files), len(r.chapters))
	}
	for _, name := range slices.Sorted(maps.Keys(r.chapters)) {
		golden, err := os.ReadFile(goldenFile(name))
		if err != nil {
			r.t.Fatal(err)
		}
		if got := r.chapters[name].text.String(); got != string(golden) {
			r.t.Errorf("%s: %s", goldenFile(name), firstDifference(string(golden), got))
		}
	}
}

func goldenFile(chapter string) string {
	return filepath.Join(answersFolder, chapter+".golden")
}

// firstDifference shows the first exchange that differs, as recorded before and now.
func firstDifference(golden, got string) string {
	before, now := strings.SplitAfter(golden, "\n"+separator), strings.SplitAfter(got, "\n"+separator)
	for i := range max(len(before), len(now)) {
		var want, have string
		if i < len(before) {
			want = before[i]
		}
		if i < len(now) {
			have = now[i]
		}
		if want != have {
			return "the first difference; want\n" + want + "\ngot\n" + have
		}
	}
	return "no difference"
}
