package main

import (
	"bufio"
	"context"

	"github.com/spf13/cobra"

	"drawsvc/internal/http"
	"drawsvc/internal/stock"
)

// logPage is how many entries are read at once.
const logPage = 1000

func logCommand(env environment) *cobra.Command {
	var db database
	var pool poolName
	var after int64
	c := &cobra.Command{
		Use:   "log --pool ID",
		Short: "Print the history of a pool, a line of JSON for each award, move and change",
	}
	db.flag(c, env)
	pool.declare(c, false)
	c.Flags().Int64Var(&after, "after", 0, "begin behind this `VERSION`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := pool.check(); err != nil {
			return err
		}
		return db.with(c, stock.Options{ReadOnly: true}, func(ctx context.Context, store *stock.Store) error {
			return printLog(ctx, store, string(pool), after, bufio.NewWriter(env.stdout))
		})
	}
	return c
}

// printLog prints what the history holds when the command begins.
func printLog(ctx context.Context, store *stock.Store, pool string, after int64, w *bufio.Writer) error {
	p, err := store.Pool(ctx, pool)
	if err != nil {
		return err
	}
	for {
		entries, err := store.Log(ctx, pool, after, logPage)
		if err != nil {
			return err
		}
		for i := range entries {
			if after = entries[i].Version(); after > p.Version {
				return w.Flush()
			}
			if err := http.WriteEntry(w, &entries[i]); err != nil {
				return err
			}
		}
		if len(entries) < logPage {
			return w.Flush()
		}
	}
}
