package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// TestPages executes the shell blocks of README.md and docs/*.md as a reader
// would paste them.
func TestPages(t *testing.T) {
	servertest.Long(t) // shells, curl and Python
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../README.md") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			p, err := readPage(filepath.Base(file), string(text))
			require.NoError(t, err)
			for _, reason := range p.notRun {
				t.Log(reason)
			}
			if p.name == filepath.Base(runbookFile) {
				p.prelude = runbookPrelude
			}
			require.NoError(t, p.run(t))
		})
	}
}

// TestPagesAreCaught: pages that do not work as pasted fail.
func TestPagesAreCaught(t *testing.T) {
	servertest.Long(t) // shells, curl and Python
	t.Parallel()
	const demo = "# A page\n```sh\ndrawsvc serve --demo\n```\n"
	const draw = "curl -s http://127.0.0.1:8080/draw -H 'Content-Type: application/json' -d '{\"pool\":\"demo\",\"user\":\"u1\"}'\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"in order": {demo + "Then\n```sh\n" + draw + "```\n", nil},
		"a service after another": {demo + "```sh\nexport DRAWSVC_DATABASE_FILE=/run/secrets/database\ndrawsvc migrate up\n" +
			"drawsvc serve --demo\n" + draw + "```\n", nil},
		"python":       {demo + "```python\nimport urllib.request\nurllib.request.urlopen('http://127.0.0.1:8080/livez')\n```\n", nil},
		"not run":      {"```sh not run: it needs a cluster\nkubectl get pods\n```\n", nil},
		"another file": {"```json\n{}\n```\n", nil},

		"wrong flag": {"# A page\n\n```sh\ndrawsvc version\ndrawsvc pool create \\\n  --id spring\n```\n",
			[]string{"page.md:5: exit code 2: drawsvc pool create \\", "drawsvc: unknown flag: --id"}},
		"wrong python":                {"```python\nfor\n```\n", []string{"page.md:1: exit code 1", "SyntaxError"}},
		"wrong command in a pipe":     {"```sh\ndrawsvc pools | cat\n```\n", []string{"page.md:2: exit code 2", `unknown command "pools"`}},
		"service that does not start": {"```sh\ndrawsvc serve --frob\n```\n", []string{"page.md:2: exit code 2", "unknown flag: --frob"}},
		"service that is not there":   {"```sh\n" + draw + "```\n", []string{"page.md:2: exit code 7"}},
		"call that is refused":        {demo + "```sh\n" + "curl -s http://127.0.0.1:8080/frob\n```\n", []string{"page.md:6: exit code 22", "not-found"}},
		"program that is missing":     {"```sh\ndrawsrv version\n```\n", []string{"page.md:2: exit code 127", "drawsrv"}},
		"no shell":                    {"```sh\nif drawsvc version\n```\n", []string{"page.md: exit code 2", "syntax error"}},

		"no language":         {"```\ndrawsvc version\n```\n", []string{"page.md:1: the block names no language"}},
		"another shell":       {"```bash\ndrawsvc version\n```\n", []string{"page.md:1: blocks of shell are marked sh"}},
		"no reason":           {"```sh not run:\ndrawsvc version\n```\n", []string{"page.md:1: why is the block not run?"}},
		"a word that is none": {"```sh later\ndrawsvc version\n```\n", []string{`page.md:1: "later"`}},
		"a mark that is none": {"```sh not run: `x`\ndrawsvc version\n```\n", []string{"page.md:1: a mark holds no backtick"}},
		"no end":              {"# A page\n\n```sh\ndrawsvc version\n", []string{"page.md:3: the block does not end"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := readPage("page.md", c.text)
			if err == nil {
				err = p.run(t)
			}
			if c.want == nil {
				require.NoError(t, err)
			}
			for _, part := range c.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}
