package audit

import (
	"context"
	"strings"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// auditTurns reads the turns of a pool once, in the order of their key, each with its
// award.
func (r *Auditor) auditTurns(ctx context.Context, q engine.Querier, poolID string, a *rowAuditor) error {
	var last draw.Turn
	for n := 0; n < len(turnRanges()); n++ {
		page, err := r.turnsAfter(ctx, q, poolID, turnRanges()[n](last))
		if err != nil {
			return err
		}
		for i := range page {
			page[i].check(&last, a)
			last = page[i].Turn
		}
		if len(page) == ledger.PageMax {
			n = -1
		}
	}
	return nil
}

// turnRanges returns the conditions for the turns after a turn, in the order of the key.
// Each is a range of the key. For a single condition, PostgreSQL would read all turns of
// the subject.
func turnRanges() []func(draw.Turn) squirrel.And {
	return []func(draw.Turn) squirrel.And{
		func(t draw.Turn) squirrel.And {
			return squirrel.And{squirrel.Eq{"t.user_id": t.Subject, "t.what": string(t.Counted)}, squirrel.Gt{"t.seq": t.Seq}}
		},
		func(t draw.Turn) squirrel.And {
			return squirrel.And{squirrel.Eq{"t.user_id": t.Subject}, squirrel.Gt{"t.what": string(t.Counted)}}
		},
		func(t draw.Turn) squirrel.And { return squirrel.And{squirrel.Gt{"t.user_id": t.Subject}} },
	}
}

// auditedTurn is a turn with the player of its award, which is zero without an award.
// sameTime means that turn and award have the same time.
type auditedTurn struct {
	draw.Turn
	player   draw.Player
	prize    string
	sameTime bool
}

func (r *Auditor) turnsAfter(ctx context.Context, q engine.Querier, poolID string, after squirrel.And) ([]auditedTurn, error) {
	log := engine.Turns()
	query := r.ledger.SelectFrom("turns AS t "+r.ledger.Engine.TurnAward,
		log.Read("t."), "COALESCE(a.user_id, '')", "COALESCE(a.prize_id, '')", "COALESCE(a.at = t.at, a.at IS NOT NULL)").
		Where(squirrel.Eq{"t.pool_id": poolID}).Where(after).
		OrderBy("t.user_id", "t.what", "t.seq").Limit(ledger.PageMax)
	return ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (t auditedTurn, err error) {
		err = row.Scan(append(log.Fields(&t.Turn), &t.player.UserID, &t.prize, &t.sameTime)...)
		return t, err
	})
}

// check compares a turn with the previous turn and with its award.
func (t *auditedTurn) check(before *draw.Turn, a *rowAuditor) {
	found := &a.found
	expected, version, run := int64(1), int64(0), int64(0)
	if before.Subject == t.Subject && before.Counted == t.Counted {
		expected, version, run = before.Seq+1, before.Version, before.Run
	}
	if p := a.byID[t.prize]; t.Counted != draw.CountedMiss || p != nil && p.kind != draw.KindBlank {
		run = 0
	} else {
		run++
	}
	if t.Seq != expected || t.Version <= version {
		found.add(ruleTurnGap, "turn %d %q of version %d stands where turn %d of a version above %d is due", t.Seq, t.Counted, t.Version, expected, version)
	}
	prize, isPrize := strings.CutPrefix(string(t.Counted), "prize:")
	switch {
	case t.player == draw.Player{}:
		found.add(ruleTurnStray, "turn %d %q is of version %d, which is no award", t.Seq, t.Counted, t.Version)
	case t.Counted.By().Of(t.player) != t.Subject:
		found.add(ruleTurnStray, "turn %d %q is of version %d, the award of another %s", t.Seq, t.Counted, t.Version, t.Counted.By())
	case !t.sameTime:
		found.add(ruleTurnStray, "turn %d %q is of another time than its award of version %d", t.Seq, t.Counted, t.Version)
	case isPrize && prize != t.prize:
		found.add(ruleTurnStray, "turn %d %q is of version %d, an award of prize %q", t.Seq, t.Counted, t.Version, t.prize)
	case t.Run != run && t.Seq == expected:
		found.add(ruleTurnStray, "turn %d %q of version %d has %d misses in a row, its awards make %d", t.Seq, t.Counted, t.Version, t.Run, run)
	}
}

// auditInForce compares the pool's row with the history: its state and its rules with the
// changes, and the spent budget with the awards.
func (r *Auditor) auditInForce(ctx context.Context, q engine.Querier, poolID string, a *rowAuditor) error {
	rows, err := ledger.SelectAll(ctx, q, r.ledger.SelectFrom("pools", "state", "rules", "spent", "spent_from").Where(squirrel.Eq{"id": poolID}),
		func(row engine.Scanner) (r struct {
			state    draw.State
			rules    int64
			spending urn.Spending
		}, err error) {
			err = row.Scan((*string)(&r.state), &r.rules, &r.spending.Cents, engine.ScanTime(&r.spending.From))
			return r, err
		})
	if err != nil || len(rows) == 0 {
		return err
	}
	if a.state != "" && rows[0].state != a.state {
		a.found.add(ruleStateIsChanges, "the pool is %s by its row, %s by its changes", rows[0].state, a.state)
	}
	if rows[0].rules != a.rules {
		a.found.add(fold.RuleRulesUnknown, "the rules in force are of version %d by the pool's row, of %d by its changes", rows[0].rules, a.rules)
		return nil
	}
	ruling, err := r.ledger.Ruling(ctx, q, poolID, a.rules)
	if err != nil {
		return err
	}
	if why := ruling.Rules.Unreadable(); why != nil {
		a.found.add(fold.RuleRulesUnknown, "the rules of version %d cannot be read: %s", a.rules, draw.DetailOf(why))
		return nil
	}
	if !ruling.Rules.HasBudget() {
		return nil
	}
	cents, err := r.ledger.SpentSince(ctx, q, poolID, rows[0].spending.From)
	if err != nil {
		return err
	}
	if cents != rows[0].spending.Cents {
		a.found.add(ruleSpentIsAwards, "%d cents were spent by the pool's row, %d by its awards", rows[0].spending.Cents, cents)
	}
	return nil
}
