package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock/stocktest"
)

// TestUsage: an invalid command line is refused with exit code 2 and one line, before
// anything is changed.
func TestUsage(t *testing.T) {
	t.Parallel()
	const admin, drawing = "--admin-token=secret-admin-token", "--draw-token=secret-draw-token"
	for args, want := range map[string]string{
		"":                   "a command is missing",
		"frob":               `unknown command "frob"`,
		"--frob":             "unknown flag: --frob",
		"serve --frob":       "unknown flag: --frob",
		"serve --databse=x":  "unknown flag: --databse; the nearest is --database",
		"serve --batchmax 3": "unknown flag: --batchmax; the nearest is --batch-max",
		"serve now":          `unexpected argument "now"`,
		"serve -x":           "unknown flag: -x; the nearest is --",
		"serve -batch-max=3": "unknown flag: -batch-max; the nearest is --batch-max",
		"migrate":            "a subcommand is missing: try drawsvc migrate --help",
		"migrate down":       `unknown command "down"`,
		"migrate up 3":       `unexpected argument "3"`,
		"pool":               "a subcommand is missing",
		"pool frob":          `unknown command "frob"`,
		"agenda lst":         `unknown command "lst" for "drawsvc agenda"; the nearest is list`,
		"help frob":          `unknown command "frob" for "drawsvc"`,
		"help pool lst":      `unknown command "lst" for "drawsvc pool"; the nearest is list`,
		"stock":              "a subcommand is missing",
		"version --output=x": "must be table or json",
		"version please":     `unexpected argument "please"`,

		"serve --mode pessimistic":                           "--mode must be one of external, for-update, optimistic",
		"serve --mode=":                                      "--mode must be one of",
		"serve --optimistic-tries 0":                         "--optimistic-tries must be 1 to 1000",
		"serve --optimistic-budget 0s":                       "--optimistic-budget must be 1ms to 1m0s",
		"serve --optimistic-budget soon":                     `--optimistic-budget must be a time such as 500ms, 10s or 1h, not "soon"`,
		"serve --lock-ttl 1ms":                               "--lock-ttl must be 100ms to 1h0m0s",
		"serve --lock-wait -1s":                              "--lock-wait must be 0s to 1m0s",
		"serve --batch-max 0":                                "--batch-max must be 1 to 10000",
		"serve --batch-max 1e3":                              `--batch-max must be a whole number, not "1e3"`,
		"serve --queue-max 0":                                "--queue-max must be 1 to 1000000",
		"serve --request-timeout 1h":                         "--request-timeout must be 100ms to 10m0s",
		"serve --origin draws+example.org":                   "--origin: the origin must be a host",
		"serve --origin example.org/":                        "--origin: the origin must be a host",
		"serve --log-format xml":                             "--log-format must be text or json",
		"serve --log-level loud":                             "--log-level must be debug, info, warn or error",
		"serve --migrate=perhaps":                            `--migrate must be true or false, not "perhaps"`,
		"serve --listen 8080":                                "--listen must be HOST:PORT",
		"serve --listen localhost":                           "--listen must be HOST:PORT",
		"serve --admin-token short":                          "--admin-token must have at least 8 characters",
		"serve --draw-token short":                           "--draw-token must have at least 8 characters",
		"serve --draw-token längerundlänger":                 "--draw-token must be printable ASCII",
		"serve --admin-token=12345678 --draw-token=12345678": "must differ",
		"serve --public-draw " + drawing:                     "contradict each other",
		"serve --listen :0":                                  "--listen :0 is open to others: give --admin-token",
		"serve --listen 0.0.0.0:0":                           "give --admin-token",
		"serve --listen [::]:0":                              "give --admin-token",
		"serve --listen 192.0.2.1:0 --public-draw":           "give --admin-token",
		"serve --listen example.org:0":                       "give --admin-token",
		"serve --listen :0 " + drawing:                       "give --admin-token",
		"serve --listen :0 " + admin:                         "give --draw-token, or --public-draw if anyone may draw",

		"serve --lock frob:":                               "lock must be one of",
		"serve --lock table":                               "lock must be one of",
		"serve --lock row:":                                "row",
		"serve --lock session:":                            "session",
		"serve --lock redis://":                            "Redis",
		"serve --lock zookeeper://":                        "zookeeper",
		"serve --lock etcd://":                             "etcd",
		"serve --database oracle://x":                      "database must be sqlite:PATH, postgres://… or mysql://USER:PASS@HOST:PORT/DB",
		"serve --database=":                                "database must be",
		"audit --database sqlite:":                         "needs the path of a file",
		"audit --database postgres:x":                      "the database URL cannot be",
		"audit --database postgres://u:hidden%zz@h/d":      "the database URL cannot be read",
		"audit --database mysql://u:hidden@/d":             "the database URL cannot be read",
		"audit --database postgres://u:hidden@h/d?port=xx": "the database URL cannot be",
		"audit --output yaml":                              "must be table or json",

		"log --pool a --after -1":                                   "--after must be 0 or above",
		"pool create":                                               "the pool's id is missing",
		"pool create Spring":                                        "the pool's id must match",
		"pool create a b":                                           `unexpected argument "b": the form is drawsvc pool create ID`,
		"pool create a --pool a":                                    "name the pool once",
		"pool create a --mode x":                                    "--mode must be one of external, for-update, optimistic",
		"pool create a --prize x":                                   `"x" is not KEY=VALUE`,
		"pool create a --prize id=x":                                "stock is missing",
		"pool create a --prize stock=1":                             "prize id is missing",
		"pool create a --prize id=x,id=y":                           "there twice",
		"pool create a --prize id=x,stock=1,odds=2":                 `"odds" is not one of id, name, value, stock, kind and codes`,
		"pool create a --prize id=x,stock=1.5":                      `stock must be a whole number from 0 to 1000000000000, not "1.5"`,
		"pool create a --prize id=x,stock=-1":                       `stock of prize "x" must be 0 to`,
		"pool create a --prize id=x,stock=9223372036854775808":      `stock must be a whole number from 0 to 1000000000000, not "9223372036854775808"`,
		"pool create a --prize id=x,stock=1,value=1.999":            "value must be an amount",
		"pool create a --prize id=x,stock=1,name=":                  "prize name is missing",
		`pool create a --prize id="x`:                               "must be id=ID,stock=N",
		"pool list a":                                               `unexpected argument "a"`,
		"pool show":                                                 "the pool's id is missing",
		"pool pause --pool=":                                        "the pool's id is missing",
		"pool close " + strings.Repeat("x", 65):                     "longer than 64",
		"stock add a":                                               `unexpected argument "a"`,
		"stock add --prize p --delta 1 --reason r":                  "the pool's id is missing",
		"stock add --pool a --delta 1 --reason r":                   "the prize's id is missing",
		"stock add --pool a --prize p --reason r":                   "delta must be a whole number",
		"stock add --pool a --prize p --delta 1":                    "reason is missing",
		"stock add --pool a --prize p --delta x":                    `--delta must be a whole number, not "x"`,
		"stock add --pool a --prize p --delta 1 --reason r --key=":  "--key must not be empty",
		"stock add --pool a --prize p --delta 1 --reason r --key=ü": "Idempotency-Key must be printable ASCII",
		"stock import --pool a":                                     "name one file",
		"stock import --pool a b c":                                 "name one file",
		"stock import x.csv":                                        "the pool's id is missing",
		"stock import - --pool a --reason=":                         "reason is missing",
		"serve --database postgres://u:hid@den@h/d":                 "percent-encode them",
		"serve --database oracle://u:hidden@h/d":                    "database must be sqlite:PATH",

		"backup":                              "name one file",
		"backup a b":                          "name one file",
		"backup a --output json":              "unknown flag: --output",
		"backup a --database oracle://x":      "database must be sqlite:PATH",
		"backup a --database sqlite:":         "needs the path of a file",
		"restore":                             "name one file",
		"restore a b":                         "name one file",
		"restore a --database postgres://h/d": "docs/backup.md has the steps",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			p := program{tb: t, vars: map[string]string{}}
			file := filepath.Join(t.TempDir(), "draws.db")
			given := strings.Fields(args)
			if !strings.Contains(args, "--database") {
				p.vars["DRAWSVC_DATABASE"] = "sqlite:" + file
			}
			if !strings.Contains(args, "--listen") {
				p.vars["DRAWSVC_LISTEN"] = "127.0.0.1:0"
			}
			line := p.refused(exitUsage, want, given...)
			require.NotContains(t, line, "hidden")
			require.NotContains(t, line, "secret")
			if !strings.Contains(args, "--lock") {
				require.NoFileExists(t, file, "a database was made")
			}
		})
	}
}

// TestEnvironment: every flag has a variable, and the flag overrides it.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := program{tb: t, vars: map[string]string{"DRAWSVC_DATABASE": "sqlite:" + filepath.Join(folder, "a.db")}}
	p.ok("migrate", "up")
	require.FileExists(t, filepath.Join(folder, "a.db"))
	p.ok("migrate", "up", "--database", "sqlite:"+filepath.Join(folder, "b.db"))
	require.FileExists(t, filepath.Join(folder, "b.db"), "the flag beats the variable")

	p.vars["DRAWSVC_POOL"] = "spring"
	p.vars["DRAWSVC_PRIZE"] = "id=gold,stock=3"
	p.ok("pool", "create")
	require.Contains(t, p.ok("pool", "show"), "pool spring, spring")
	p.ok("pool", "create", "summer")
	require.Contains(t, p.ok("pool", "show", "summer"), "pool summer", "so does the argument")
	p.vars["DRAWSVC_OUTPUT"] = "json"
	require.JSONEq(t, `{"pool":"spring","ok":true,"version":2,"violations":[],
		"prizes":[{"prize":"gold","stocked":3,"issued":0,"awards":0,"remaining":3,"over_issued":0}]}`, p.ok("audit"))
	p.vars["DRAWSVC_OUTPUT"] = "yaml"
	p.refused(exitUsage, `DRAWSVC_OUTPUT: --output: must be table or json`, "audit")
	require.Contains(t, p.ok("audit", "--output", "table"), "spring")

	for name, value := range map[string]string{
		"BATCH_MAX": "0", "QUEUE_MAX": "many", "MODE": "x", "LISTEN": "x", "LOCK_TTL": "x", "REQUEST_TIMEOUT": "1ms",
		"OPTIMISTIC_TRIES": "0", "OPTIMISTIC_BUDGET": "x", "LOCK_WAIT": "x", "LOG_FORMAT": "x", "LOG_LEVEL": "x",
		"ADMIN_TOKEN": "short", "DRAW_TOKEN": "short", "MIGRATE": "x", "DEMO": "x", "PUBLIC_DRAW": "x", "LOCK": "x",
	} {
		q := program{tb: t, vars: map[string]string{"DRAWSVC_DATABASE": "sqlite:" + filepath.Join(folder, "c"+name)}}
		q.vars["DRAWSVC_LISTEN"] = "127.0.0.1:0" // another service may use the usual port
		q.vars["DRAWSVC_"+name] = value
		line := q.refused(exitUsage, "", "serve")
		require.True(t, strings.Contains(line, "DRAWSVC_"+name) || strings.Contains(line, strings.ToLower(strings.ReplaceAll(name, "_", "-"))), line)
	}
}

// TestEveryFlagHasAVariable: every flag has a variable, except flags whose variable has
// another meaning.
func TestEveryFlagHasAVariable(t *testing.T) {
	t.Parallel()
	var without []string
	var walk func(c *cobra.Command, name string)
	walk = func(c *cobra.Command, name string) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Annotations[setting.NoVariable] != nil {
				without = append(without, name+" --"+f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub, strings.TrimSpace(name+" "+sub.Name()))
		}
	}
	for _, c := range commands(setting.Environment{}) {
		walk(c, c.Name())
	}
	slices.Sort(without)
	require.Equal(t, []string{"man --dir", "pool create --mode", "receipt verify --key", "verify --key", "verify --receipts", "verify --witness"}, without)
	page, err := os.ReadFile("../../docs/configure.md")
	require.NoError(t, err)
	require.Contains(t, strings.ReplaceAll(string(page), "\n", " "), "Six flags have no variable, because the variable's name belongs to another flag. "+
		"They are `--mode` of `pool create`, `--dir` of `man`, `--key` of `receipt verify`, and `--key`, `--witness` and `--receipts` of `verify`.")
	p := program{tb: t, vars: map[string]string{"DRAWSVC_URL": "http://" + servertest.ClosedAddr(t), "DRAWSVC_NAME": "ci", "DRAWSVC_ROLE": "stock"}}
	p.refused(exitFailure, "refused", "healthcheck")
	require.Contains(t, p.ok("token", "new"), `{"name":"ci","role":"stock"`)
}

// TestSecretFiles: a secret may come from a file, but not from two places.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	url := stocktest.URL(t, "sqlite")
	database := write("database", url+"\n")
	admin, drawing := write("admin", "  admin-from-a-file\r\n"), write("draw", "draw-from-a-file")

	p := program{tb: t, vars: map[string]string{"DRAWSVC_DATABASE_FILE": database, "DRAWSVC_DRAW_TOKEN_FILE": drawing}}
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=9")
	s := p.serve("--admin-token-file", admin)
	require.Empty(t, s.stdout.String(), "a token that was given is not printed")
	for token, want := range map[string]int{"": 401, "draw-from-a-file": 200, "admin-from-a-file": 200, "another-token": 401} {
		status, _, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, "Authorization", "Bearer "+token)
		require.NoError(t, err)
		require.Equal(t, want, status, token)
	}
	status, _, err := s.ask("GET", "/admin/pools", "", "Authorization", "Bearer draw-from-a-file")
	require.NoError(t, err)
	require.Equal(t, 403, status)
	s.token = "admin-from-a-file"
	s.admin(200, "GET", "/admin/pools", "")
	o := s.end()
	require.Equal(t, exitOK, o.code)
	require.NotContains(t, o.stdout+o.stderr, "from-a-file")

	empty := write("empty", " \n")
	p.refused(exitUsage, "--admin-token-file: the file is empty", "serve", "--admin-token-file", empty)
	p.refused(exitUsage, "--admin-token-file: open ", "serve", "--admin-token-file", folder+"/missing")
	p.refused(exitUsage, "give --admin-token or --admin-token-file, not both", "serve", "--admin-token-file", admin, "--admin-token", "12345678")
	p.refused(exitUsage, "give --database or --database-file, not both", "audit", "--database-file", database, "--database", url)
	p.vars["DRAWSVC_DATABASE"] = url
	p.refused(exitUsage, "give --database or --database-file, not both", "audit")
	p.ok("audit", "--database", url)
	p.ok("audit", "--database-file", database)
}
