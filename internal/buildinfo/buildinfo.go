// Package buildinfo has the version and commit of the running build.
package buildinfo

import "runtime/debug"

// Version and Commit are set by the linker in `make build`. Other builds (go install, go run, go test) take them
// from the Go toolchain's build info. They are never empty.
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

// complete fills what the linker left empty from the build info, which may be nil.
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
