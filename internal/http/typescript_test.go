package http

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// npmTools is the folder of the programs that are installed by npm.
const npmTools = "../../tools/npm"

// compileTypeScript generates types from the description of the interface, and compiles
// a client with them. It returns the compiler's messages, "" for none.
func compileTypeScript(t *testing.T, client string) string {
	t.Helper()
	folder := t.TempDir()
	tools, err := filepath.Abs(npmTools)
	require.NoError(t, err)
	programs := filepath.Join(tools, "node_modules", ".bin")
	run := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = folder
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	output, err := run(filepath.Join(programs, "openapi-typescript"), filepath.Join(tools, "../../internal/http/openapi.yaml"), "--output", "api.d.ts")
	require.NoError(t, err, output)
	require.NoError(t, os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(folder, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "client.ts"), []byte(client), 0o600))
	output, err = run(filepath.Join(programs, "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom",
		"--module", "esnext", "--moduleResolution", "bundler", "client.ts")
	if err == nil {
		return ""
	}
	require.NotEmpty(t, output, err)
	return output
}

// TestTypeScriptCompiles: a client for draws and for the feeds compiles with the types
// that openapi-typescript makes, and a wrong one does not.
func TestTypeScriptCompiles(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, "npm", "npm", "node")
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = npmTools
	output, err := install.CombinedOutput()
	require.NoError(t, err, string(output))

	text, err := os.ReadFile("testdata/client.ts")
	require.NoError(t, err)
	client := string(text)
	require.Empty(t, compileTypeScript(t, client))
	for right, wrong := range map[string]string{
		"body: { pool, user }": "body: { user }",
		"award.prize":          "award.price",
		`"/draw"`:              `"/drawn"`,
	} {
		require.Contains(t, client, right)
		require.Contains(t, compileTypeScript(t, strings.Replace(client, right, wrong, 1)), "error TS", wrong)
	}
}
