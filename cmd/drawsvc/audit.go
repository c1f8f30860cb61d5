package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/stock"
)

func auditCommand(env environment) *cobra.Command {
	var on target
	var output output
	var pool poolName
	var deep bool
	c := &cobra.Command{
		Use:   "audit",
		Short: "Check the rows of one pool, or of all, for every rule that they must keep",
		Long: `Check the rows of one pool, or of all, for every rule that they must keep. Exit
code 3 says that one is broken.`,
	}
	on.flag(c, env)
	output.flag(c.Flags())
	pool.optional(c, "`ID` of the pool; all pools when left out")
	c.Flags().BoolVar(&deep, "deep", false, "fold the whole history through the code that decides draws; takes memory for each user that rules count")
	c.RunE = func(c *cobra.Command, _ []string) error {
		poolID := string(pool)
		report := func(audits []draw.Audit, err error) error {
			if err == nil {
				err = printAudits(env.stdout, output, poolID != "", audits)
			}
			if err == nil && slices.ContainsFunc(audits, func(a draw.Audit) bool { return !a.OK() }) {
				err = errViolation
			}
			return err
		}
		if deep {
			return onlyOnDatabase(c, &on, "audit --deep", func(ctx context.Context, store *stock.Store) error {
				return report(audit(ctx, store, store.AuditDeep, poolID))
			})
		}
		return readOn(c, &on, func(ctx context.Context, pools auditor) error { return report(audit(ctx, pools, pools.Audit, poolID)) })
	}
	return c
}

// auditor audits pools.
type auditor interface {
	// PoolIDs returns the ids of all pools, in order.
	PoolIDs(ctx context.Context) ([]string, error)
	http.Auditor
}

// audit audits a pool, or for poolID "" all of them, one after another.
func audit(ctx context.Context, pools auditor, one func(context.Context, string) (draw.Audit, error), poolID string) ([]draw.Audit, error) {
	ids := []string{poolID}
	if poolID == "" {
		var err error
		if ids, err = pools.PoolIDs(ctx); err != nil {
			return nil, err
		}
	}
	audits := make([]draw.Audit, 0, len(ids))
	for _, id := range ids {
		a, err := one(ctx, id)
		if err != nil {
			return nil, err
		}
		audits = append(audits, a)
	}
	return audits, nil
}

// printAudits prints a table, or JSON: of one pool that was asked for, what the
// audit over HTTP answers, else all pools.
func printAudits(w io.Writer, o output, one bool, audits []draw.Audit) error {
	if o == outputJSON && one {
		return json.NewEncoder(w).Encode(jsonAudits(audits)[0])
	}
	if o == outputJSON {
		ok := !slices.ContainsFunc(audits, func(a draw.Audit) bool { return !a.OK() })
		return json.NewEncoder(w).Encode(map[string]any{"ok": ok, "pools": jsonAudits(audits)})
	}
	t := newTable(w)
	t.isRight = true
	fmt.Fprintln(t, "pool\tprize\tstocked\tissued\tawards\tremaining\tover-issued\t")
	for _, a := range audits {
		for _, p := range a.Prizes {
			stocked, remaining := strconv.FormatInt(p.Stocked, 10), strconv.FormatInt(p.Remaining, 10)
			if p.IsEndless {
				stocked, remaining = "endless", "endless"
			}
			_, _ = printf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t\n", a.PoolID, p.PrizeID, stocked, p.Issued, p.Awards, remaining, p.OverIssued)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var violations int64
	for _, a := range audits {
		violations += a.Found
		for _, v := range a.Violations {
			_, _ = printf(w, "violation in pool %s: %s: %s\n", a.PoolID, v.Rule, v.Detail)
		}
	}
	_, err := printf(w, "%s, %s\n", counted(int64(len(audits)), "pool"), counted(violations, "violation"))
	return err
}

type (
	auditJSON struct {
		OK         bool             `json:"ok"`
		Pool       string           `json:"pool"`
		Version    int64            `json:"version"`
		Prizes     []auditPrizeJSON `json:"prizes"`
		Violations []violationJSON  `json:"violations"`
	}
	auditPrizeJSON struct {
		PrizeID    string `json:"prize"`
		Stocked    *int64 `json:"stocked"` // null: endless
		Issued     int64  `json:"issued"`
		Awards     int64  `json:"awards"`
		Remaining  *int64 `json:"remaining"`
		OverIssued int64  `json:"over_issued"`
	}
	violationJSON struct {
		Rule   string `json:"rule"`
		Detail string `json:"detail"`
	}
)

func jsonAudits(audits []draw.Audit) []auditJSON {
	all := make([]auditJSON, len(audits))
	for i, a := range audits {
		j := auditJSON{OK: a.OK(), Pool: a.PoolID, Version: a.Version, Prizes: []auditPrizeJSON{}, Violations: []violationJSON{}}
		for _, p := range a.Prizes {
			one := auditPrizeJSON{PrizeID: p.PrizeID, Issued: p.Issued, Awards: p.Awards, OverIssued: p.OverIssued}
			if !p.IsEndless {
				one.Stocked, one.Remaining = &p.Stocked, &p.Remaining
			}
			j.Prizes = append(j.Prizes, one)
		}
		for _, v := range a.Violations {
			j.Violations = append(j.Violations, violationJSON(v))
		}
		all[i] = j
	}
	return all
}
