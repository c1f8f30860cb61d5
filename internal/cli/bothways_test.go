package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// twin runs each command in two ways.
type twin struct {
	t          *testing.T
	local, far program
	url        string // the URL of the database that the service of far uses
	server     *service
	files      string
	tokens     map[string]string
}

// newTwin creates two equal databases with the pools mono, which has issued two units,
// and dry, which has no units. A service runs on the second database.
func newTwin(t *testing.T, dialect string) *twin {
	w := &twin{t: t, files: t.TempDir(), tokens: map[string]string{}, url: stocktest.Migrated(t, dialect)}
	w.write("rules", `{"fallback":"none","limits":[{"of":"draws","max":5,"per":"day"},{"of":"wins","max":2}]}`)
	w.write("limits", `{"fallback":"none","limits":[{"of":"draws","max":7},{"of":"prize","prize":"gold","max":1,"per":"168h"}],"blocked":["bob"]}`)
	week := w.write("week", `{"limits":[{"of":"draws","max":1,"per":"168h"}]}`)
	w.write("malformed", `{"fallbak":"none"}`)
	w.write("good", "prize,name,value,stock\ntin,,,2\nwood,Wooden toy,3,10\n")
	w.write("other", "prize,name,value,stock\ntin,,,3\n")
	w.write("bad", "prize,name,value,stock\ntin,,,2\nwood,Wooden toy,three,10\n")
	w.write("blanks", "prize,name,value,stock,kind\nvoid,Void,,,blank\n")
	w.write("moments", "at,prize,delta,reason\n2999-01-05T09:00:00Z,gold,2,a\n2999-01-06T09:00:00+01:00,tin,-1,b\n")
	w.write("latemoments", "at,prize,delta,reason\n2999-01-05T09:00:00Z,gold,2,a\n2001-01-06T09:00:00+01:00,tin,-1,b\n")
	w.write("steps", "award,to,reference\n4,fulfilled,P9\n")
	w.write("badsteps", "award,to\n99,fulfilled\n")
	w.write("codes", "code\nAAAA-1111\nAAAA-1112\nAAAA-1113\n")
	w.write("badcodes", "AAAA-2111\nAAAA-2112,x\n")
	keys := w.write("sealkeys", stocktest.SealKeyLine("k1")+"\n")
	recipients, identity := keyFiles(t)
	w.local = on(t, stocktest.Migrated(t, dialect))
	w.local.vars["DRAWSVC_SEED_RECIPIENTS"], w.local.vars["DRAWSVC_SEED_IDENTITY_FILE"] = recipients, identity
	w.local.vars["DRAWSVC_SEAL_KEYS"] = keys
	var entries []made
	for name, role := range map[string]string{"ci": "admin", "eye": "auditor", "clerk": "stock"} {
		m := w.local.newToken("--name", name, "--role", role)
		w.tokens[name] = w.write(name, m.token)
		entries = append(entries, m)
	}
	tokens := filepath.Join(w.files, "tokens")
	writeTokens(t, tokens, entries...)
	for _, p := range []program{w.local, on(t, w.url)} {
		p.ok("migrate", "up")
		p.ok("pool", "create", "mono", "--prize", "id=gold,stock=3")
		p.ok("pool", "create", "dry", "--prize", "id=gold,stock=0")
		p.ok("rules", "set", "--pool", "mono", week)
		s := p.serve("--public-draw", "--tokens", tokens, "--seed-recipients", recipients, "--seed-identity-file", identity, "--seal-keys", keys)
		s.won("mono", "ann", "first")
		s.won("mono", "bob", "second")
		if w.server = s; p.vars["DRAWSVC_DATABASE"] != w.url {
			require.Equal(t, exitOK, s.end().code)
		}
	}
	w.far = w.as("ci")
	return w
}

func (w *twin) write(name, text string) string {
	path := filepath.Join(w.files, name)
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// as returns the program over HTTP with the token of a name.
func (w *twin) as(name string) program {
	return program{tb: w.t, vars: map[string]string{"DRAWSVC_SERVER": w.server.url, "DRAWSVC_TOKEN_FILE": w.tokens[name]}}
}

// args splits a line into arguments. Two single quotes stand for the pool spring, = for an
// empty argument, and @NAME for a file of the test.
func (w *twin) args(line string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		switch {
		case word == "''":
			words[i] = "spring"
		case word == "=":
			words[i] = ""
		case strings.HasPrefix(word, "@"):
			words[i] = filepath.Join(w.files, word[1:])
		}
	}
	return words
}

// varies matches the times and the names of actors in the output, and random values:
// seals of schedules, and the seeds, roots and signatures of commitments.
var varies = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|"actor":"(cli:[^"]*|ci)"|by (cli:\S+|ci) at|,(cli:[^,]*|ci),|` +
	`(?m)sha256 [0-9a-f]{64}$|kept nowhere else: \S+$|"sha256":"[0-9a-f]{64}","salt":"[^"]+"|"count":\d+,"sha256":"[0-9a-f]{64}"|"sha256":"[0-9a-f]{64}","version"|sha256 [0-9a-f]{12}\)|"hash":"[0-9a-f]{64}"|` +
	`hook-[a-z2-7]{16}|whsec_[A-Za-z0-9+/=]{44}|not shown again: \S+$|"seconds":[0-9.e-]+|^anchor [0-9a-f]{64}$|^log \d+ \S+$|^— draws.example.org/\S+ \S+$|^1 [0-9a-f]{64}$`)

// mark matches the mark of a key in an entry of the log. A plan over HTTP always has a
// key, so its entry always has a mark.
var mark = regexp.MustCompile(`,"key":"[\w-]{43}:[\w-]{43}"`)

func alike(o outcome) outcome {
	o.stdout = varies.ReplaceAllString(mark.ReplaceAllString(o.stdout, ""), "…")
	o.message = varies.ReplaceAllString(o.message, "…")
	return o
}

// TestBothWays: every admin command prints what the table has, with the exit code of
// the table, over both transports.
func TestBothWays(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			w := newTwin(t, dialect)
			for _, c := range bothWays() {
				w.run(c.line, c.code, c.part)
			}
			mine, theirs := w.local.ok("log", "--pool", "spring"), w.far.ok("log", "--pool", "spring")
			require.NotContains(t, mine, `"actor":"ci"`)
			require.NotContains(t, theirs, `"actor":"cli`)
			require.Positive(t, strings.Count(mine, `"actor":"cli:`))
			require.Equal(t, strings.Count(mine, `"actor":"cli:`), strings.Count(theirs, `"actor":"ci"`), "each change and move names who made it")
			if dialect == "sqlite" { // only one process may open the file
				return
			}
			w.damage()
			w.run("audit", exitViolation, "violation in pool dry: ")
			w.run("audit --pool dry", exitViolation, "1 pool, 25 violations")
			w.run("audit --pool dry --output json", exitViolation, `and 5 more`)
			w.run("pool export-proof --pool deal @forked", exitViolation, "not those that were signed")
			w.run("pool close deal --reveal", exitViolation, "not those that were signed")
			w.run("pool reveal deal", exitViolation, "not those that were signed")
			require.NoDirExists(t, filepath.Join(w.files, "forked"))
		})
	}
}

// run runs a line over each transport: in process, on the handlers with one database,
// and over the network, on a service with an equal database. Both must give the same
// result.
func (w *twin) run(line string, code int, part string) {
	w.t.Helper()
	var first outcome
	for i, over := range []program{w.local, w.far} {
		o := over.run(w.args(line)...)
		require.Equal(w.t, code, o.code, "%s: %s%s", line, o.message, o.stdout)
		require.Contains(w.t, o.stdout+o.message, part, line)
		if i == 0 {
			first = o
		}
		require.Equal(w.t, alike(first), alike(o), line)
	}
}

// TestBothWaysCatches: the test fails for a service with other answers.
func TestBothWaysCatches(t *testing.T) {
	t.Parallel()
	w := newTwin(t, "sqlite")
	for line, change := range map[string][2]string{
		"pool list":                     {`"issued":2`, `"issued":1`},
		"pool show mono --output json":  {`"revision":`, `"revision":1`},
		"pool show nowhere":             {`"code":"pool-not-found"`, `"code":"invalid-request"`},
		"log --pool mono":               {`"user":"bob"`, `"user":"eve"`},
		"export awards --pool mono":     {`"unit":2`, `"unit":3`},
		"export moves --pool mono":      {`"stocked":3`, `"stocked":4`},
		"audit --pool mono":             {`"violations":[]`, `"violations":[{"rule":"over-issued","detail":"x"}]`},
		"odds --pool mono":              {`"chance":"1/1"`, `"chance":"1/2"`},
		"rules show --pool mono":        {`"max":1`, `"max":2`},
		"user show ann --pool mono":     {`"left":0`, `"left":1`},
		"stock import --pool mono @bad": {"line 3", "line 4"},
	} {
		service := between(t, w.server.url, func(_ *http.Request, answer *httptest.ResponseRecorder) {
			text := strings.Replace(answer.Body.String(), change[0], change[1], 1)
			answer.Body = bytes.NewBufferString(text)
		})
		far := w.as("ci")
		far.vars["DRAWSVC_SERVER"] = service
		local := alike(w.local.run(w.args(line)...))
		require.Equal(t, local, alike(w.far.run(w.args(line)...)), line)
		require.NotEqual(t, local, alike(far.run(w.args(line)...)), line)
	}
}

// damage breaks a rule in the pool dry of both databases, more often than an audit
// lists, and changes signed rows of the pool deal.
func (w *twin) damage() {
	w.run("pool create deal --state paused --prize id=gold,stock=3", exitOK, "paused")
	w.run("pool commit deal --origin draws.example.org", exitOK, "deal")
	for _, p := range []program{w.local, w.far} {
		for i := range 24 {
			p.ok("prize", "add", "--pool", "dry", "--prize", fmt.Sprintf("id=p%02d,stock=1", i))
		}
	}
	for _, url := range []string{w.local.vars["DRAWSVC_DATABASE"], w.url} {
		_, err := rows(w.t, url).ExecContext(w.t.Context(), `UPDATE prizes SET stocked = 7 WHERE pool_id = 'dry'`)
		require.NoError(w.t, err)
		_, err = rows(w.t, url).ExecContext(w.t.Context(), `UPDATE moves SET reason = 'other' WHERE pool_id = 'deal'`)
		require.NoError(w.t, err)
	}
}

// TestJobsBothWays: on one database with a running service, both transports show the
// same.
func TestJobsBothWays(t *testing.T) {
	t.Parallel()
	w := newTwin(t, "sqlite")
	p := on(t, w.url)
	require.Eventually(t, func() bool { // its schedule may have begun a run
		return w.far.run("job", "run", "audit").code == exitOK
	}, commandMax, 10*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(w.far.ok("job", "history", "audit"), "ok") }, commandMax, 10*time.Millisecond)
	require.Contains(t, w.far.ok("job", "history", "audit", "--output", "json"), `"asked_by":"ci"`)
	require.Contains(t, w.far.ok("job", "show", "audit"), `"pools":`)
	for _, line := range []string{"job list", "job list --output json", "job show audit", "job show audit --output json", "job history audit", "job history audit --output json"} {
		require.Eventually(t, func() bool { // a job may begin in between
			return alike(p.run(w.args(line)...)) == alike(w.far.run(w.args(line)...))
		}, commandMax, 10*time.Millisecond, line)
	}
}

// leaves returns the commands without subcommands.
func leaves(all []*cobra.Command) (found []*cobra.Command) {
	for _, c := range all {
		if len(c.Commands()) == 0 {
			found = append(found, c)
		}
		found = append(found, leaves(c.Commands())...)
	}
	return found
}

// TestEveryCommandBothWays: each command with --server is in the table above, and each
// other command with a database refuses the flag.
func TestEveryCommandBothWays(t *testing.T) {
	t.Parallel()
	var tested []string
	for _, c := range bothWays() {
		tested = append(tested, c.line+" ")
	}
	tested = append(tested, "job list ", "job show ", "job history ") // TestJobsBothWays tests these
	tested = append(tested, "publish ", "clock accept ")              // TestPublish and TestClockAccept test these: publish always needs a database, and clock accept a service
	root := &cobra.Command{Use: "drawsvc"}
	root.AddCommand(commands(program{tb: t}.environment(&bytes.Buffer{}, &bytes.Buffer{}))...)
	for _, c := range leaves(root.Commands()) {
		name := strings.TrimPrefix(c.CommandPath(), "drawsvc ")
		switch {
		case c.Flags().Lookup(setting.ServerFlag) != nil:
			require.True(t, slices.ContainsFunc(tested, func(line string) bool { return strings.HasPrefix(line, name+" ") }), "%s is not tested both ways", name)
		case c.Flags().Lookup(setting.DatabaseFlag) != nil:
			p := program{tb: t, vars: map[string]string{}}
			p.refused(exitUsage, name+" works only on the database", append(strings.Fields(name), "--server", "http://127.0.0.1:1")...)
		}
	}
}
