package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
)

// units are the counts of a pool, all its prizes together but endless blanks.
type units struct{ stocked, issued int64 }

func unitsOf(p *draw.Pool) (u units) {
	for i := range p.Prizes {
		if p.Prizes[i].IsEndless() {
			continue
		}
		u.stocked += p.Prizes[i].Stocked
		u.issued += p.Prizes[i].Issued
	}
	return u
}

// ownMode is how a table shows a pool that names no mode.
func ownMode(p *draw.Pool) string {
	if p.Mode == "" {
		return "(service's)"
	}
	return p.Mode
}

// archived is what a pool's line says behind its state.
func archived(p *draw.Pool) string {
	if p.Archived {
		return " and archived"
	}
	return ""
}

func printPools(w io.Writer, o output, pools []draw.Pool) error {
	if o == outputJSON {
		return http.WritePools(w, pools)
	}
	t := newTable(w)
	fmt.Fprintln(t, "pool\tstate\tmode\tversion\tprizes\tstocked\tissued\tremaining\tname")
	for i := range pools {
		p, u := &pools[i], unitsOf(&pools[i])
		_, _ = printf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n",
			p.ID, p.State, ownMode(p), p.Version, len(p.Prizes), u.stocked, u.issued, u.stocked-u.issued, p.Name)
	}
	return t.Flush()
}

func printPool(w io.Writer, o output, p *draw.Pool) error {
	if o == outputJSON {
		return http.WritePool(w, p)
	}
	if _, err := printf(w, "pool %s, %s: %s%s, mode %s, revision %d, version %d%s%s%s\n\n",
		p.ID, p.Name, p.State, archived(p), ownMode(p), p.Revision, p.Version, rulesOf(p), committedOf(p), openingOf(p)); err != nil {
		return err
	}
	t := newTable(w)
	fmt.Fprintln(t, "prize\tvalue\tstocked\tissued\tremaining\tname")
	for i := range p.Prizes {
		z := &p.Prizes[i]
		stocked, remaining := stockOf(z)
		_, _ = printf(t, "%s\t%s\t%s\t%d\t%s\t%s%s\n", z.ID, z.Value.StringFixed(2), stocked, z.Issued, remaining, z.Name, blank(z))
	}
	return t.Flush()
}

// rulesOf is what the line of a pool says of its rules.
func rulesOf(p *draw.Pool) string {
	if p.RulesVersion == 0 {
		return ""
	}
	return fmt.Sprintf(", rules of version %d", p.RulesVersion)
}

// committedOf is what the line of a pool says of its commitment.
func committedOf(p *draw.Pool) string {
	if p.Committed == 0 {
		return ""
	}
	return fmt.Sprintf(", committed at version %d", p.Committed)
}

// openingOf is what the line of a pool says of the round that it is announced to
// open with.
func openingOf(p *draw.Pool) string {
	if p.Round == 0 {
		return ""
	}
	return fmt.Sprintf(", opens with round %d at %s", p.Round, p.RoundAt.UTC().Format(time.RFC3339))
}

// stockOf is how a table shows what a prize has and what remains of it.
func stockOf(p *draw.Prize) (stocked, remaining string) {
	if p.IsEndless() {
		return "endless", "endless"
	}
	return strconv.FormatInt(p.Stocked, 10), strconv.FormatInt(p.Remaining(), 10)
}

// blank is what a prize's line says behind its name.
func blank(p *draw.Prize) string {
	if p.IsWin() {
		return ""
	}
	return " (blank)"
}
