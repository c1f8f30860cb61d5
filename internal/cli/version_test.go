package cli

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/rules"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	p := program{tb: t}
	var v map[string]string
	require.NoError(t, json.Unmarshal([]byte(p.ok("version", "--output", "json")), &v))
	require.Len(t, v, 4)
	require.NotEmpty(t, v["version"])
	require.NotEmpty(t, v["commit"])
	require.Equal(t, runtime.Version(), v["go"])
	require.Equal(t, rules.ZoneRelease, v["zones"])
	require.Equal(t, "drawsvc "+v["version"]+", commit "+v["commit"]+", "+v["go"]+", time zones "+v["zones"]+"\n", p.ok("version"))
	require.Equal(t, p.ok("version"), p.ok("--version"))
}
