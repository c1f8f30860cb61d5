package setting

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionOfBuild: the version of a build from a tag, from a checkout, from an archive
// without history, and with values of the linker.
func TestVersionOfBuild(t *testing.T) {
	t.Parallel()
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123abcd"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, c := range map[string]struct {
		info            *debug.BuildInfo
		version, commit string
		want            [2]string
	}{
		"a tag":                    {build("v1.2.3", revision), "", "", [2]string{"1.2.3", "0123abcd"}},
		"changed files":            {build("v1.2.3+dirty", revision, modified), "", "", [2]string{"1.2.3+dirty", "0123abcd+dirty"}},
		"go install":               {build("v1.2.3"), "", "", [2]string{"1.2.3", "unknown"}},
		"no history":               {build("(devel)", modified), "", "", [2]string{"dev", "unknown"}},
		"no information":           {nil, "", "", [2]string{"dev", "unknown"}},
		"what the linker says":     {build("(devel)"), "2.0.0", "feed", [2]string{"2.0.0", "feed"}},
		"the linker beats the tag": {build("v1.2.3", revision), "2.0.0", "feed", [2]string{"2.0.0", "feed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := versionOf(c.info, c.version, c.commit)
			require.Equal(t, c.want, [2]string{v.Version, v.Commit})
		})
	}
}
