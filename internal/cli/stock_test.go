package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

func TestStockAdd(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := spring(t, url)
		add := func(more ...string) []string {
			return append([]string{"stock", "add", "--pool", "spring", "--prize", "gold", "--reason", "restock"}, more...)
		}
		require.Equal(t, "pool spring, prize gold: +100 units; now 110 stocked, 0 issued, 110 remaining (version 4)\n", p.ok(add("--delta", "100")...))
		require.Equal(t, "pool spring, prize gold: -30 units; now 80 stocked, 0 issued, 80 remaining (version 5)\n", p.ok(add("--delta", "-30", "--key", "k1")...))
		require.Equal(t, "pool spring, prize gold: -30 units; now 80 stocked, 0 issued, 80 remaining (version 5); this key was used already, and nothing was moved again\n",
			p.ok(add("--delta=-30", "--key", "k1")...))
		p.refused(exitFailure, `the key "k1" was used for another stock move`, add("--delta", "-31", "--key", "k1")...)
		p.refused(exitFailure, `prize "gold" has issued 0 of 80 units`, add("--delta", "-81")...)
		p.refused(exitFailure, `pool "spring" has no prize "tin"`, add("--delta", "1", "--prize", "tin")...)
		p.refused(exitFailure, `there is no pool "summer"`, add("--delta", "1", "--pool", "summer")...)
		require.Contains(t, p.ok("pool", "show", "spring"), "version 5\n")
	})
}

func TestStockImport(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := spring(t, url)
		file := filepath.Join(t.TempDir(), "prizes.csv")
		write := func(content string) { require.NoError(t, os.WriteFile(file, []byte(content), 0o600)) }

		write("\uFEFFprize,name,value,stock\r\ngold,Gold coin,19.9,5\r\ntin,Tin can,0.01,1000\r\n")
		require.Equal(t, "pool spring: prizes added 1, restocked 1; units put in 1005 (version 5)\n", p.ok("stock", "import", "--pool", "spring", file))
		p.stdin = "prize,name,value,stock\ngold,,,5\n"
		require.Equal(t, "pool spring: prizes added 0, restocked 1; units put in 5 (version 6)\n",
			p.ok("stock", "import", "-", "--pool", "spring", "--reason", "delivery 4711"))
		shown := p.ok("pool", "show", "spring")
		require.Contains(t, shown, "gold    19.90  20       0       20         Gold coin\n")
		require.Contains(t, shown, "tin     0.01   1000     0       1000       Tin can\n")

		var long strings.Builder
		long.WriteString("prize,name,value,stock\n")
		for i := 2; i <= 1000; i++ {
			fmt.Fprintf(&long, "p%d,Prize,1.00,%s\n", i, map[bool]string{true: "1e3", false: "1000"}[i == 900])
		}
		write(long.String())
		require.Equal(t, file+": line 900: stock must be a whole number from 0 to 1000000000000, only digits, not \"1e3\"; nothing was imported",
			p.refused(exitFailure, "line 900: ", "stock", "import", "--pool", "spring", file))
		p.stdin = "prize,name,value,stock\ngold,Golden coin,,5\n\"tin,,,1\nsilver,,,1\ntin,,2,1\n"
		p.refused(exitFailure, "; line 3: has a quote", "stock", "import", "--pool", "spring", "-")
		p.stdin = "prize,name,value,stock\ngold,Golden coin,,5\nsilver,,,1\ntin,,2,1\nnew,,,1\n"
		p.refused(exitFailure, `-: line 2: prize "gold" has the name "Gold coin" in the pool; line 4: prize "tin" has the value 0.01 in the pool; `+
			`line 5: prize "new" is new and needs a name; nothing was imported`, "stock", "import", "--pool", "spring", "-")
		require.Equal(t, shown, p.ok("pool", "show", "spring"), "nothing was changed")

		p.stdin = "Stock;Prize;Name;Value\n5;gold;;\n7;copper;Copper;\n"
		require.Equal(t, "gold: Gold coin, value 19.90; +5 units make 25 stocked (present)\ncopper: Copper, value 0.00; +7 units make 7 stocked (new)\n"+
			"the units are worth 99.50; all remaining units of the pool would then be worth 507.50\n"+
			"pool spring: prizes added 1, restocked 1; units put in 12 (version 8); this was a dry run, and nothing was imported\n",
			p.ok("stock", "import", "--pool", "spring", "--dry-run", "-"))
		require.Equal(t, shown, p.ok("pool", "show", "spring"), "a dry run changed the pool")
		once := []string{"stock", "import", "--pool", "spring", "--key", "delivery", "-"}
		result := "pool spring: prizes added 1, restocked 1; units put in 12 (version 8)"
		require.Equal(t, result+"\n", p.ok(once...))
		require.Equal(t, result+"; this key was used already, and nothing was imported again\n", p.ok(once...))
		p.stdin += "1;zinc;Zinc;\n"
		p.refused(exitFailure, "delivery", once...)
		p.refused(exitUsage, "--key must not be empty", "stock", "import", "--pool", "spring", "--key=", "-")

		p.stdin = "prize,name,value,stock\n"
		p.refused(exitFailure, `there is no pool "summer"`, "stock", "import", "--pool", "summer", "-")
		p.refused(exitFailure, "no such file", "stock", "import", "--pool", "spring", file+".missing")
		p.refused(exitFailure, "is a directory", "stock", "import", "--pool", "spring", filepath.Dir(file))
		p.ok("audit")
	})
}

// TestStockImportBesideDraws: a running service draws imported stock from the next draw
// on.
func TestStockImportBesideDraws(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // only one process may open an SQLite file
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := on(t, stocktest.Migrated(t, dialect))
			p.ok("migrate", "up")
			p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
			s := p.serve()
			s.won("spring", "u1", "")
			p.stdin = "prize,name,value,stock\ntin,Tin,,1\n"
			p.ok("stock", "import", "--pool", "spring", "-")
			answer, _ := s.won("spring", "u2", "named-so-that-the-database-is-asked")
			require.Equal(t, "tin", answer["awards"].([]any)[0].(map[string]any)["prize"])
			p.ok("pool", "pause", "spring")
			status, body, err := s.draw("spring", "u3", "another")
			require.NoError(t, err)
			require.Equal(t, 409, status)
			require.Contains(t, body, "pool-not-open")
		})
	}
}

func TestProgressIsShownForLongImportsOnATerminal(t *testing.T) {
	t.Parallel()
	play := func(terminal bool, total int, begun time.Duration) string {
		var screen bytes.Buffer
		p := newProgress(&screen, terminal)
		p.begun = p.begun.Add(-begun)
		for done := total / 4; done <= total; done += total / 4 {
			p.at(done, total)
		}
		p.end()
		return screen.String()
	}
	require.Empty(t, play(false, 100_000, time.Minute), "no terminal")
	require.Empty(t, play(true, 10_000, -time.Minute), "short, however slow the machine is")
	require.Contains(t, play(true, 10_004, 0), "importing", "many lines")
	require.Contains(t, play(true, 400, 2*time.Second), "importing", "a long time")
	require.Contains(t, play(true, 10_004, 0), "(2501/10004)")
	require.True(t, strings.HasSuffix(play(true, 10_004, 0), "\r"), "the line is free again")
}
