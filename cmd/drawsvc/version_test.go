package main

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	p := program{tb: t}
	var v map[string]string
	require.NoError(t, json.Unmarshal([]byte(p.ok("version", "--output", "json")), &v))
	require.Len(t, v, 3)
	require.NotEmpty(t, v["version"])
	require.NotEmpty(t, v["commit"])
	require.Equal(t, runtime.Version(), v["go"])
	require.Equal(t, "drawsvc "+v["version"]+", commit "+v["commit"]+", "+v["go"]+"\n", p.ok("version"))
}
