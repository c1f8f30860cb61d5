package history

import (
	"slices"
	"strings"
)

// itemKey and momentKey begin the keys of moves that an agenda has planned; Campaign judges
// these moves.
const (
	itemKey   = "\x1fitem "
	momentKey = "\x1fmoment "
)

type asked struct {
	first   Op
	won     *Op
	unknown bool
	// refused means that the last round of retries was refused.
	refused bool
}

// Match compares the answers with the rows of one pool.
func Match(v *Verdict, ops []Op, r Rows, t Terms) {
	draws, moves := map[string]*asked{}, map[string]*asked{}
	for i := range ops {
		o := &ops[i]
		if o.Pool != r.Pool || o.Code == "idempotency-key-reused" {
			continue
		}
		of := draws
		if o.Kind == Stock {
			of = moves
		}
		a := of[o.Key]
		if a == nil {
			a = &asked{first: *o}
			of[o.Key] = a
		}
		a.note(v, o, t)
	}
	matchDraws(v, draws, r)
	matchMoves(v, moves, r)
}

func (a *asked) note(v *Verdict, o *Op, t Terms) {
	switch {
	case o.Won() && a.won == nil:
		a.won = o
	case o.Won() && !(sameAwards(o.Awards, a.won.Awards) && o.Version == a.won.Version):
		v.Say(AnswersDiffer, "%s: %v, before %v", o, o.Awards, a.won.Awards)
	case o.Unknown():
		a.unknown = true
	case o.Refused() && o.Call >= t.Settled:
		a.refused = true
	}
}

func matchDraws(v *Verdict, draws map[string]*asked, r Rows) {
	rows := byDraw(r.Awards)
	for key, of := range rows {
		a := draws[key]
		if a == nil {
			v.Say(Unasked, "pool %s has awards of the draw %s, which nobody asked for", r.Pool, key)
			continue
		}
		if len(of) != a.first.Count || !isOneDraw(of) || of[0].User != a.userOf() {
			v.Say(DrawTwice, "%s has the rows %+v", &a.first, of)
		}
	}
	for key, a := range draws {
		of := rows[key]
		switch {
		case a.won != nil && !matches(a.won.Awards, of):
			v.Say(AcknowledgedLost, "%s: answered %+v, the rows are %+v", a.won, a.won.Awards, of)
		case a.won == nil && len(of) > 0 && (!a.unknown || a.refused):
			v.Say(NothingHappened, "%s has the rows %+v", &a.first, of)
		}
	}
}

// userOf returns the user to whom the draw belongs: the one who won it.
func (a *asked) userOf() string {
	if a.won != nil {
		return a.won.User
	}
	return a.first.User
}

func matches(awards []Award, rows []AwardRow) bool {
	return slices.EqualFunc(awards, rows, func(a Award, r AwardRow) bool {
		return a.Version == r.Version && a.Prize == r.Prize && a.Unit == r.Unit
	})
}

func matchMoves(v *Verdict, moves map[string]*asked, r Rows) {
	rows := map[string][]MoveRow{}
	for _, row := range r.Moves {
		if row.Key != "" && !strings.HasPrefix(row.Key, itemKey) && !strings.HasPrefix(row.Key, momentKey) {
			rows[row.Key] = append(rows[row.Key], row)
		}
	}
	for key, of := range rows {
		if a := moves[key]; a == nil {
			v.Say(Unasked, "pool %s has the move %s, which nobody asked for", r.Pool, key)
		} else if len(of) > 1 || of[0].Delta != a.first.Delta || of[0].Prize != a.first.Prize {
			v.Say(DrawTwice, "%s has the rows %+v", &a.first, of)
		}
	}
	for key, a := range moves {
		of := rows[key]
		switch {
		case a.won != nil && (len(of) != 1 || of[0].Version != a.won.Version || of[0].Stocked != a.won.Stocked):
			v.Say(AcknowledgedLost, "%s: answered version %d, the rows are %+v", a.won, a.won.Version, of)
		case a.won == nil && len(of) > 0 && (!a.unknown || a.refused):
			v.Say(NothingHappened, "%s has the rows %+v", &a.first, of)
		}
	}
}

// Laws compares the rows of one pool with each other.
func Laws(v *Verdict, r Rows) {
	awards, moved := map[string]int64{}, map[string]int64{}
	units := map[string]map[int64]bool{}
	versions := map[int64]bool{}
	seen := func(version int64) {
		if versions[version] {
			v.Say(Versions, "pool %s has the version %d twice", r.Pool, version)
		}
		versions[version] = true
	}
	for _, a := range r.Awards {
		seen(a.Version)
		awards[a.Prize]++
		if units[a.Prize] == nil {
			units[a.Prize] = map[int64]bool{}
		}
		if units[a.Prize][a.Unit] {
			v.Say(UnitTwice, "pool %s issued unit %d of %s twice", r.Pool, a.Unit, a.Prize)
		}
		units[a.Prize][a.Unit] = true
	}
	for _, m := range r.Moves {
		seen(m.Version)
		moved[m.Prize] += m.Delta
	}
	for _, version := range r.Changes {
		seen(version)
	}
	for version := int64(1); version <= r.Version; version++ {
		if !versions[version] {
			v.Say(Versions, "pool %s lacks the version %d of %d", r.Pool, version, r.Version)
		}
	}
	if int64(len(versions)) > r.Version {
		v.Say(Versions, "pool %s is at version %d and has %d in its log", r.Pool, r.Version, len(versions))
	}
	for _, p := range r.Prizes {
		if over := max(awards[p.ID], p.Issued) - p.Stocked; over > 0 {
			v.Say(OverIssued, "pool %s issued %d more of %s than the %d stocked", r.Pool, over, p.ID, p.Stocked)
		}
		if p.Issued != awards[p.ID] || p.Stocked != moved[p.ID] {
			v.Say(Counters, "pool %s says %d issued and %d stocked of %s; its logs say %d and %d", r.Pool,
				p.Issued, p.Stocked, p.ID, awards[p.ID], moved[p.ID])
		}
		delete(awards, p.ID)
	}
	for id, n := range awards {
		v.Say(Counters, "pool %s has %d awards of %s, which it does not have", r.Pool, n, id)
	}
	if len(r.Prizes) == 0 {
		v.Say(Counters, "pool %s has no prizes", r.Pool)
	}
	for draw, of := range byDraw(r.Awards) {
		if !isOneDraw(of) {
			v.Say(DrawTwice, "pool %s has %d awards of the draw %s, which are not one draw of one user", r.Pool, len(of), draw)
		}
	}
}

// byDraw groups the rows by draw, ordered by their ordinals.
func byDraw(awards []AwardRow) map[string][]AwardRow {
	draws := map[string][]AwardRow{}
	for _, row := range awards {
		draws[row.Draw] = append(draws[row.Draw], row)
	}
	for _, of := range draws {
		slices.SortFunc(of, func(x, y AwardRow) int { return x.Ordinal - y.Ordinal })
	}
	return draws
}

// isOneDraw reports whether the rows belong to one user and are numbered from 1.
func isOneDraw(of []AwardRow) bool {
	for i, row := range of {
		if row.Ordinal != i+1 || row.User != of[0].User {
			return false
		}
	}
	return true
}
