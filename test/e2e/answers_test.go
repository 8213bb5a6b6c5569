package e2e_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/program"
)

// answersFolder has one golden file for each chapter, the same for both database engines.
const answersFolder = "testdata/answers"

// unrecorded are the documented codes that need a race, a broken server, very many orders or a limit that is not set by
// default; other tests provoke them.
var unrecorded = []string{
	"request-in-progress", "internal-error", "service-unavailable", "claim-limit-reached", "storage-limit-reached",
}

// TestAnswers drives every operation of the program in a fixed order and compares all answers, byte for byte, with the
// golden files: the integration API, the desk API, webhook deliveries, commands, certificates and photos. Only what
// differs in every run, such as ids and times, is replaced by placeholders.
func TestAnswers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
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

func (r *recorder) compare() {
	r.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.chapters)) {
		expect.Golden(r.t, goldenFile(name), r.chapters[name].text.String())
	}
	files, err := filepath.Glob(goldenFile("*"))
	if err != nil {
		r.t.Fatal(err)
	}
	if len(files) != len(r.chapters) {
		r.t.Errorf("there are %d golden files and %d chapters", len(files), len(r.chapters))
	}
}

func goldenFile(chapter string) string {
	return filepath.Join(answersFolder, chapter+".golden")
}
