package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/place"
)

// counted holds the counts of one prize from one of three sources: the script in the
// award log, the service in its audit, or SQL in the rows.
type counted struct {
	Prize      string `json:"prize"`
	Stocked    int64  `json:"stocked"`
	Awards     int64  `json:"awards"`
	OverIssued int64  `json:"over_issued"`
}

func total(prizes []counted) (t counted) {
	for _, p := range prizes {
		t.Stocked += p.Stocked
		t.Awards += p.Awards
		t.OverIssued += p.OverIssued
	}
	return t
}

// read reads a pool's rows from the database raw, without the program. plain means that
// they are a textbook program's.
func read(ctx context.Context, raw, pool string, plain bool) (history.Rows, error) {
	db, err := place.Open(raw, "mode=ro")
	if err != nil {
		return history.Rows{}, err
	}
	defer func() { _ = db.Close() }()
	return history.Read(ctx, db, pool, strings.HasPrefix(raw, "postgres"), plain)
}

func count(r history.Rows) (all []counted) {
	awards := map[string]int64{}
	for _, a := range r.Awards {
		awards[a.Prize]++
	}
	for _, p := range r.Prizes {
		if isEndless(r, p.ID) {
			continue
		}
		n := awards[p.ID]
		all = append(all, counted{p.ID, p.Stocked, n, max(n-p.Stocked, 0)})
	}
	return all
}

// isEndless reports whether a prize is a losing draw that never runs out and has no
// stock.
func isEndless(r history.Rows, prize string) bool {
	return slices.ContainsFunc(r.Prizes, func(p history.PrizeRow) bool { return p.ID == prize && p.Stocked == draw.EndlessStock })
}

// lawsBroken returns every law that the rows break.
func lawsBroken(r history.Rows) (faults []string) {
	var v history.Verdict
	history.Laws(&v, r)
	for _, broken := range v.Violations {
		faults = append(faults, "SQL: "+broken.String())
	}
	return faults
}

// agree returns every prize for which the service's audit, the script's count of the
// award log and the rows differ.
func agree(audit, log, sql []counted) (faults []string) {
	if len(audit) != len(log) || len(audit) != len(sql) {
		faults = append(faults, fmt.Sprintf("audit, log and SQL know %d, %d and %d prizes", len(audit), len(log), len(sql)))
	}
	of := func(all []counted, prize string) (c counted) {
		if n := slices.IndexFunc(all, func(c counted) bool { return c.Prize == prize }); n >= 0 {
			c = all[n]
		}
		return c
	}
	for _, a := range audit {
		l, q := of(log, a.Prize), of(sql, a.Prize)
		if a.Awards != l.Awards || a.Awards != q.Awards || a.Stocked != l.Stocked || a.Stocked != q.Stocked {
			faults = append(faults, fmt.Sprintf("%s: audit %d of %d, log %d of %d, SQL %d of %d", a.Prize,
				a.Awards, a.Stocked, l.Awards, l.Stocked, q.Awards, q.Stocked))
		}
	}
	return faults
}
