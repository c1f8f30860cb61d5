package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
)

// version and commit may be set by the linker, where a build has neither the
// repository's history nor a module version. Both win over what the build knows.
var version, commit string

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	// Zones is the release of the time zone database that rules and schedules go by.
	Zones string `json:"zones"`
}

func readVersion() versionInfo {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info, version, commit)
}

// versionOf is what the build says of itself: the version of the module, which Go
// takes from the tag of the commit or from `go install MODULE@VERSION`, and the commit
// with "+dirty" where files were changed. info may be nil.
func versionOf(info *debug.BuildInfo, version, commit string) versionInfo {
	v := versionInfo{Version: version, Commit: commit, Go: runtime.Version(), Zones: draw.ZoneRelease}
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
	commit := setting(info, "vcs.revision")
	if commit != "" && setting(info, "vcs.modified") == "true" {
		return commit + "+dirty"
	}
	return commit
}

// setting is what a build says of one key, "" for nothing.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// String is the line that people read.
func (v versionInfo) String() string {
	return fmt.Sprintf("drawsvc %s, commit %s, %s, time zones %s", v.Version, v.Commit, v.Go, v.Zones)
}

func versionCommand(env environment) *cobra.Command {
	var output output
	c := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go version and the release of the time zones",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if output == outputJSON {
				return json.NewEncoder(env.stdout).Encode(v)
			}
			_, err := fmt.Fprintln(env.stdout, v)
			return err
		},
	}
	output.flag(c.Flags())
	return c
}
