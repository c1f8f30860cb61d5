package setting

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"drawsvc/internal/draw/rules"
)

// VersionInfo is the version of a build.
type VersionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	// Zones is the release of the time zone database that rules and schedules use.
	Zones string `json:"zones"`
}

// ReadVersion returns the version of this program.
func ReadVersion(env Environment) VersionInfo {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info, env.Version, env.Commit)
}

// versionOf returns the version of the module, which Go takes from the commit's tag or
// from `go install MODULE@VERSION`. It also returns the commit, with "+dirty" if files
// were changed. info may be nil.
func versionOf(info *debug.BuildInfo, version, commit string) VersionInfo {
	v := VersionInfo{Version: version, Commit: commit, Go: runtime.Version(), Zones: rules.ZoneRelease}
	if info != nil {
		if v.Version == "" && info.Main.Version != "(devel)" {
			v.Version = strings.TrimPrefix(info.Main.Version, "v")
		}
		if v.Commit == "" {
			v.Commit = commitOf(info)
		}
	}
	v.Version, v.Commit = cmp.Or(v.Version, "dev"), cmp.Or(v.Commit, "unknown")
	return v
}

func commitOf(info *debug.BuildInfo) string {
	commit := Setting(info, "vcs.revision")
	if commit != "" && Setting(info, "vcs.modified") == "true" {
		return commit + "+dirty"
	}
	return commit
}

// Setting returns the build information's value of a key, "" for none.
func Setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// String returns the version as one line.
func (v VersionInfo) String() string {
	return fmt.Sprintf("drawsvc %s, commit %s, %s, time zones %s", v.Version, v.Commit, v.Go, v.Zones)
}
