package experiments

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// judge compares codes, claims and steps with each other. The instance of a file is
// stopped while a command reads the codes.
func (w *wins) judge() error {
	received, awards, ended := 0, 0, map[string]int{}
	for _, pool := range w.pools {
		rows, err := w.Rows(pool)
		w.Must(err)
		steps, err := w.steps(pool)
		w.Must(err)
		w.judgeLives(rows, steps)
		events, _, _ := w.receiver.Of(pool)
		received, awards = received+len(events), awards+len(rows.Awards)
		for _, s := range steps {
			ended[s.To]++
		}
	}
	w.Note("%d awards, steps %v, %d events received", awards, ended, received)
	if ended["claimed"] == 0 || ended["expired"] == 0 {
		w.Verdict.Say(history.Fault, "nothing was claimed, or nothing expired, so that nothing was shown")
	}
	if w.Kind == "sqlite" {
		w.Must(w.Instances[0].Stop())
		defer func() { _ = w.Instances[0].Again(w.Ctx) }() // if it does not start, the end of the cell reports that
	}
	for _, pool := range w.pools {
		w.Must(w.judgeCodes(pool))
	}
	return nil
}

// judgeLives requires that each award of gold was claimed or expired, in time and as its
// caller was answered. It also requires that the units of expired awards returned, and no
// others.
func (w *wins) judgeLives(rows history.Rows, steps []winStep) {
	until, first, returned := w.deadlines(rows), map[int64]string{}, int64(0)
	for i, s := range steps {
		switch deadline := until[s.Award]; {
		case s.N != int64(i+1):
			w.Verdict.Say(history.Fault, "pool %s: step %d follows step %d", rows.Pool, s.N, i)
		case first[s.Award] != "" && s.To != "fulfilled":
			w.Verdict.Say(history.Fault, "pool %s: the award of version %d is %s after it was %s", rows.Pool, s.Award, s.To, first[s.Award])
		case s.To == "claimed" && !s.At.Before(deadline), s.To == "expired" && s.At.Before(deadline):
			w.Verdict.Say(history.Fault, "pool %s: the award of version %d is %s at %v, its deadline is %v", rows.Pool, s.Award, s.To, s.At, deadline)
		}
		if first[s.Award] == "" {
			first[s.Award] = s.To
		}
		if s.Returned != nil {
			returned++
		}
	}
	for _, c := range w.claims {
		if a := c.draw.Awards[0]; c.draw.Pool == rows.Pool {
			w.judgeClaim(c, first[a.Version], until[a.Version])
		}
	}
	for _, p := range rows.Prizes {
		want := int64(len(w.lines[rows.Pool+"/"+p.ID]))
		if p.ID == "gold" {
			want += returned - winReserve
		}
		if p.Stocked != want {
			w.Verdict.Say(history.Fault, "pool %s: %d of %s are stocked, and have to be %d", rows.Pool, p.Stocked, p.ID, want)
		}
	}
}

// deadlines returns the deadlines of a pool's awards, by version.
func (w *wins) deadlines(rows history.Rows) map[int64]time.Time {
	at, until := map[string]string{}, map[int64]time.Time{}
	for _, o := range w.History.Ops() {
		if o.Pool == rows.Pool && o.Won() {
			at[o.Key] = o.Awards[0].At
		}
	}
	for _, a := range rows.Awards {
		made, err := time.Parse(time.RFC3339Nano, at[a.Draw])
		if err != nil {
			w.Verdict.Say(history.Fault, "the award %+v has no time: %v", a, err)
		}
		until[a.Version] = made.Add(winWithin)
	}
	return until
}

// judgeClaim compares the answer to a claim with the award's first step, and with the
// clock of this program, which is the database's.
func (w *wins) judgeClaim(c *winClaim, first string, until time.Time) {
	isLate := c.requests == 1 && c.asked.After(until.Add(clockNear))
	isEarly := c.answered.Before(until.Add(-clockNear))
	switch {
	case c.code != "" && (first != "claimed" || isLate), c.refused != "" && (first != "expired" || isEarly),
		c.refused != "" && c.refused != "claim-expired" && c.refused != "award-ended":
		w.Verdict.Say(history.Fault, "a claim from %v to %v, deadline %v, is answered %q, and the award is %s: %s",
			c.asked.UTC(), c.answered.UTC(), until, c.refused, first, &c.draw)
	}
}

// judgeCodes requires that unit k has the code of line k, that a code is shown for only
// one award, and that each imported code is at one place.
func (w *wins) judgeCodes(pool string) error {
	shown := map[string]int64{}
	show := func(prize, code string, unit, version int64, o *history.Op) {
		lines := w.lines[pool+"/"+prize]
		if unit <= int64(len(lines)) && code != lines[unit-1] || !slices.Contains(lines, code) || shown[code] != 0 && shown[code] != version {
			w.Verdict.Say(history.Fault, "unit %d of %s, version %d, has the code %q, which version %d had: %s", unit, prize, version, code, shown[code], o)
		}
		shown[code] = version
	}
	for _, o := range w.History.Ops() {
		if o.Pool != pool || !o.Won() || w.from[pool].events > 0 {
			continue // a restore gives codes of lost awards to others
		}
		if a := o.Awards[0]; a.Prize == "card" {
			show(a.Prize, a.Code, a.Unit, a.Version, &o)
		} else if a.Code != "" {
			w.Verdict.Say(history.Fault, "a code was shown before the claim: %s", &o)
		}
	}
	for _, c := range w.claims {
		if a := c.draw.Awards[0]; c.draw.Pool == pool && c.code != "" {
			show(a.Prize, c.code, a.Unit, a.Version, &c.draw)
		}
	}
	output, err := stage.Command(w.Ctx, stage.Released, "codes", "export", "--pool", pool, "--seal-keys", w.Instances[0].Keys, "--database", w.URL)
	if err != nil {
		return err
	}
	places := map[string]int{}
	for line := range strings.Lines(output) {
		if fields := strings.Split(strings.TrimSpace(line), ","); len(fields) == 5 {
			places[fields[0]+" "+fields[4]]++
			if version := shown[fields[4]]; version != 0 && fields[3] != fmt.Sprint(version) {
				w.Verdict.Say(history.Fault, "the code of version %d is at another award's place: %s", version, line)
			}
		}
	}
	for _, prize := range []string{"card", "gold"} {
		for _, line := range w.lines[pool+"/"+prize] {
			if n := places[prize+" "+line]; n != 1 {
				w.Verdict.Say(history.Fault, "pool %s: the code %s of %s is at %d places", pool, line, prize, n)
			}
		}
	}
	return nil
}
