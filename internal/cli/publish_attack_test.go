package cli

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/publish/witnesstest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// cheater is a pool on SQLite whose operator cheats.
type cheater struct {
	program
	t             *testing.T
	url, identity string
	witness       *witnesstest.Witness
}

// draws makes users draw in the order of their numbers, which are at least from and less
// than to. It omits the draw of user leaveOut, and inserts a draw before the draw of
// user insert.
func (c *cheater) draws(from, to int, leaveOut, insert int) {
	s := c.serve("--seed-identity-file", c.identity)
	for i := from; i < to; i++ {
		if i == insert {
			s.won("spring", "friend", "invented")
		}
		if i != leaveOut {
			s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("key-", i))
		}
	}
	require.Equal(c.t, exitOK, s.end().code)
}

// publishing returns the arguments that publish to a folder and ask the witness.
func (c *cheater) publishing(dir string) []string {
	return []string{"publish", "--once", "--dir", dir, "--seed-identity-file", c.identity, "--witness", c.witness.Flag()}
}

func (c *cheater) publish(dir string) outcome { return c.run(c.publishing(dir)...) }

func (c *cheater) finish() {
	c.ok("pool", "close", "spring", "--reveal", "--seed-identity-file", c.identity)
}

// TestWitnessCatches: an operator has the seed, the key and the database. The operator
// truncates a log, drops a draw, invents a draw or swaps owners, and makes everything
// else consistent. Then a verification of only the files succeeds. But the witness has
// not cosigned them, and the publisher of the earlier folder names the first version that
// differs.
func TestWitnessCatches(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "sqlite")
	p, identity := openCommitted(t, url)
	dir := filepath.Join(t.TempDir(), "public")
	c := &cheater{program: p, t: t, url: url, identity: identity}
	require.Equal(t, exitOK, c.run("publish", "--once", "--dir", dir, "--seed-identity-file", identity).code)
	c.witness = witnesstest.Start(t, readFile(t, dir, "spring", "key"))
	backup := filepath.Join(t.TempDir(), "half")
	c.draws(0, 40, -1, -1)
	c.cosigned(c.witness, 45, c.publishing(dir)...)
	p.ok("backup", backup)
	c.draws(40, 80, -1, -1)
	c.cosigned(c.witness, 85, c.publishing(dir)...)
	c.finish()
	end := filepath.Join(t.TempDir(), "end")
	p.ok("backup", end)
	c.cosigned(c.witness, 86, c.publishing(dir)...)
	folder := filepath.Join(dir, "spring")
	outsider := program{tb: t}
	outsider.ok("verify", folder, "--witness", c.witness.Key)
	second(t, exitOK, folder, "--witness", c.witness.Key)

	for name, attack := range map[string]struct {
		begin  string
		cheat  func()
		differ int
	}{
		"truncated and closed":     {backup, c.finish, 46},
		"dropped and replayed":     {backup, func() { c.draws(40, 80, 60, -1); c.finish() }, 46},
		"invented and replayed":    {backup, func() { c.draws(40, 80, -1, 60); c.finish() }, 46},
		"owners of awards swapped": {end, c.swap, 20},
	} {
		c.ok("restore", attack.begin)
		attack.cheat()
		forged := filepath.Join(t.TempDir(), "forged")
		require.Equal(t, exitOK, c.publish(forged).code, name)
		outsider.ok("verify", filepath.Join(forged, "spring"))
		second(t, exitOK, filepath.Join(forged, "spring"))
		o := outsider.run("verify", filepath.Join(forged, "spring"), "--witness", c.witness.Key)
		require.Equal(t, exitViolation, o.code, name)
		require.Contains(t, o.stdout, "entry 0: witness: witness.example/w has not cosigned the checkpoint of ")
		said := second(t, exitViolation, filepath.Join(forged, "spring"), "--witness", c.witness.Key)
		require.Contains(t, said, "entry 0: witness: witness.example/w has not cosigned the checkpoint of ", name)
		before := readFile(t, folder, "checkpoints")
		o = c.publish(dir)
		require.Equal(t, exitViolation, o.code, "%s: %s", name, o.message)
		require.Contains(t, o.message, fmt.Sprintf("pool spring: publish: the rows of a pool are not those that were signed: version %d is ", attack.differ), name)
		require.Equal(t, before, readFile(t, folder, "checkpoints"))
	}
	c.ok("restore", end)
	require.Equal(t, exitOK, c.publish(dir).code, "the rows are back")
}

// swap swaps the owners of two awards, and signs again.
func (c *cheater) swap() {
	store := stocktest.Open(c.t, c.url, stock.Options{})
	stocktest.ExecAll(c.t, store, []string{
		`UPDATE awards SET draw_id = 'x', user_id = 'x' WHERE version = 20`,
		`UPDATE awards SET draw_id = 'key-14', user_id = 'user-14' WHERE version = 30`,
		`UPDATE awards SET draw_id = 'key-24', user_id = 'user-24' WHERE version = 20`,
		`DELETE FROM checkpoints`,
	})
	require.NoError(c.t, store.Engine().Close())
}
