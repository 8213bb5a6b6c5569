// Package buildinfo tells which build of the program is running.
package buildinfo

import "runtime/debug"

// Version and Commit are set by the linker in `make build`. A binary that was built in another way (go install, go run,
// go test) takes them from what the Go toolchain recorded. Neither is ever empty.
var (
	Version string
	Commit  string
)

const (
	unknownVersion = "dev"
	unknownCommit  = "unknown"
)

func init() {
	info, _ := debug.ReadBuildInfo()
	Version, Commit = complete(Version, Commit, info)
}

// complete fills what the linker left empty from the toolchain's record, which may be nil.
func complete(version, commit string, info *debug.BuildInfo) (filledVersion, filledCommit string) {
	if info != nil {
		if version == "" && info.Main.Version != "(devel)" {
			version = info.Main.Version
		}
		for _, setting := range info.Settings {
			if commit == "" && setting.Key == "vcs.revision" {
				commit = setting.Value
			}
		}
	}
	if version == "" {
		version = unknownVersion
	}
	if commit == "" {
		commit = unknownCommit
	}
	return version, commit
}
