package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// errViolation means that an audit found a broken rule, which the printed table names.
var errViolation = errors.New("the audit found violations")

func auditCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "audit", "Check the rows of one pool, or of all, against every rule", printing)
	c.Long = `Check the rows of one pool, or of all, against every rule. Exit
code 3 says that one is broken.`
	c.pool.optional(c.Command, "`ID` of the pool; all pools when left out")
	var deep bool
	var keys setting.SealKeysFlag
	keys.Flag(c.Flags())
	c.Flags().BoolVar(&deep, "deep", false, "fold the whole history through the code that decides draws; takes memory for each user that rules count")
	report := func(audits []api.Audit, err error) error {
		if err == nil {
			err = printAudits(env.Stdout, c.output, c.pool != "", audits)
		}
		if err == nil && slices.ContainsFunc(audits, isBroken) {
			err = errViolation
		}
		return err
	}
	onRows := c.does(func([]string) error { return c.on.takeSealKeys(&keys) }, func(ctx context.Context, on *api.Client, _ []string) error {
		return report(audit(ctx, string(c.pool), on.PoolIDs, on.Audit))
	}).RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !deep {
			return onRows(cmd, args)
		}
		if err := c.on.takeSealKeys(&keys); err != nil {
			return err
		}
		return onlyOnDatabase(cmd, &c.on, "audit --deep", func(ctx context.Context, store *stock.Store) error {
			return report(audit(ctx, string(c.pool), store.PoolIDs, func(ctx context.Context, id string) (api.Audit, error) {
				a, err := store.AuditDeep(ctx, id)
				return api.ShowAudit(&a), err
			}))
		})
	}
	return c.Command
}

func isBroken(a api.Audit) bool { return !a.OK }

// audit audits a pool, or all pools in sequence if poolID is "".
func audit(ctx context.Context, poolID string, all func(context.Context) ([]string, error), one func(context.Context, string) (api.Audit, error)) ([]api.Audit, error) {
	ids := []string{poolID}
	if poolID == "" {
		var err error
		if ids, err = all(ctx); err != nil {
			return nil, err
		}
	}
	audits := make([]api.Audit, 0, len(ids))
	for _, id := range ids {
		a, err := one(ctx, id)
		if err != nil {
			return nil, err
		}
		audits = append(audits, a)
	}
	return audits, nil
}

// printAudits prints a table or JSON. If one is true, a single pool was requested, and
// the JSON is that of an audit over HTTP. Otherwise it is a list of all pools.
func printAudits(w io.Writer, o output, one bool, audits []api.Audit) error {
	if o == outputJSON && one {
		return json.NewEncoder(w).Encode(audits[0])
	}
	if o == outputJSON {
		ok := !slices.ContainsFunc(audits, isBroken)
		return json.NewEncoder(w).Encode(map[string]any{"ok": ok, "pools": audits})
	}
	t := newTable(w)
	t.isRight = true
	fmt.Fprintln(t, "pool\tprize\tstocked\tissued\tawards\tremaining\tover-issued\t")
	for _, a := range audits {
		for _, p := range a.Prizes {
			_, _ = setting.Printf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t\n", a.Pool, p.Prize, orEndless(p.Stocked), p.Issued, p.Awards, orEndless(p.Remaining), p.OverIssued)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var violations int64
	for _, a := range audits {
		violations += a.Found()
		for _, v := range a.Violations {
			_, _ = setting.Printf(w, "violation in pool %s: %s: %s\n", a.Pool, v.Rule, v.Detail)
		}
	}
	_, err := setting.Printf(w, "%s, %s\n", counted(int64(len(audits)), "pool"), counted(violations, "violation"))
	return err
}
