package http

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compileGenerated compiles a Go client with the code that oapi-codegen generated from
// the description, in a copy of the module of the tools, which pins the generator's
// packages. It returns the compiler's messages, "" for none.
func compileGenerated(t *testing.T, generated, client []byte) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("../../tools", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	for name, text := range map[string][]byte{"api/api.go": generated, "shop/client.go": client} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "./...")
	build.Dir = folder
	output, err := build.CombinedOutput()
	if err == nil {
		return ""
	}
	require.NotEmpty(t, output, err)
	return string(output)
}

// TestGeneratedGoCompiles: a client for draws and for the feeds compiles with the code
// that oapi-codegen generates from the description, and a wrong client does not.
func TestGeneratedGoCompiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "api.go")
	generate := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../../tools/go.mod", "oapi-codegen", "-generate", "types,client", "-package", "api", "-o", file, "openapi.yaml")
	output, err := generate.CombinedOutput()
	require.NoError(t, err, string(output))
	generated, err := os.ReadFile(file)
	require.NoError(t, err)
	client, err := os.ReadFile("testdata/oapi/client.go")
	require.NoError(t, err)
	require.Empty(t, compileGenerated(t, generated, client))
	wrong := strings.Replace(string(client), "{Pool: pool, User: &user}", "{Pool: pool, Name: &user}", 1)
	require.Contains(t, compileGenerated(t, generated, []byte(wrong)), "unknown field Name")
}
