package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker when a release is built.
var version, commit = "dev", ""

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func readVersion() versionInfo {
	v := versionInfo{Version: version, Commit: commit, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok || v.Commit != "" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	if v.Commit == "" {
		v.Commit = "unknown"
	}
	return v
}

func versionCommand(env environment) *cobra.Command {
	var output output
	c := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if output == outputJSON {
				return json.NewEncoder(env.stdout).Encode(v)
			}
			_, err := fmt.Fprintf(env.stdout, "drawsvc %s, commit %s, %s\n", v.Version, v.Commit, v.Go)
			return err
		},
	}
	output.flag(c.Flags())
	return c
}
