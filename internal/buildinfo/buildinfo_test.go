package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestComplete(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}},
	}
	tests := []struct {
		name            string
		version, commit string
		info            *debug.BuildInfo
		wantVersion     string
		wantCommit      string
	}{
		{"LinkerWins", "v9", "fff", recorded, "v9", "fff"},
		{"Recorded", "", "", recorded, "v1.2.3", "abc123"},
		{"HalfFromLinker", "v9", "", recorded, "v9", "abc123"},
		{"DevelopmentTree", "", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev", "unknown"},
		{"NothingKnown", "", "", nil, "dev", "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			version, commit := complete(tt.version, tt.commit, tt.info)
			if version != tt.wantVersion || commit != tt.wantCommit {
				t.Errorf("got %q, %q; want %q, %q", version, commit, tt.wantVersion, tt.wantCommit)
			}
		})
	}
}

func TestNeverEmpty(t *testing.T) {
	if Version == "" || Commit == "" {
		t.Errorf("Version %q, Commit %q: neither may be empty", Version, Commit)
	}
}
