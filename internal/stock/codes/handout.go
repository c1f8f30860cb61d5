package codes

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// wanted are the units of a prize whose codes are handed out.
type wanted struct {
	prizeID string
	units   []int64
}

// sealedCode is a code as the database has it.
type sealedCode struct {
	keyID          string
	sealed, digest []byte
}

// place is where a code stands.
type place struct {
	prizeID string
	number  int64
}

// HandOut fills in the codes of those awards that have one, for draws of one pool. One
// lookup is enough, because the units of a prize in a batch are consecutive. It reads
// from the server that takes the writes. Errors: CodeSealKeyMissing, and those of the
// store; then some draws lack a code, see [draw.Draw.AsksStore].
func (r *Register) HandOut(ctx context.Context, poolID string, draws []*draw.Draw) error {
	fault.At(fault.BeforeCodes)
	found, err := r.readSealed(ctx, poolID, wantedOf(draws))
	opened := make(map[place]string, len(found))
	for at, code := range found {
		text, failed := r.open(poolID, at.prizeID, code)
		if err = cmp.Or(err, failed); failed == nil { // one that does not open is no reason to withhold others
			opened[at] = text
		}
	}
	for _, d := range draws {
		for i := range d.Awards {
			if a := &d.Awards[i]; a.HasCode {
				a.Code = opened[place{a.PrizeID, a.Unit}]
			}
		}
	}
	return err
}

// wantedOf are the units of draws that have codes, by prize, each in order.
func wantedOf(draws []*draw.Draw) []wanted {
	units := map[string][]int64{}
	for _, d := range draws {
		for i := range d.Awards {
			if a := &d.Awards[i]; a.HasCode {
				units[a.PrizeID] = append(units[a.PrizeID], a.Unit)
			}
		}
	}
	all := make([]wanted, 0, len(units))
	for _, prize := range slices.Sorted(maps.Keys(units)) {
		slices.Sort(units[prize])
		all = append(all, wanted{prize, slices.Compact(units[prize])})
	}
	return all
}

const (
	// prizesMax and unitsMax bound one statement of a lookup.
	prizesMax = 50
	unitsMax  = 256
	// gapsMax is how many rows a range may have for each wanted one.
	gapsMax = 4
)

// ranges are the conditions that find units, each with its arguments: a range where the
// units follow one another, else lists.
func (w *wanted) ranges() (conditions []string, args [][]any) {
	first, last := w.units[0], w.units[len(w.units)-1]
	if last-first < int64(len(w.units))*gapsMax {
		return []string{`place BETWEEN ? AND ?`}, [][]any{{first, last}}
	}
	for few := range slices.Chunk(w.units, unitsMax) {
		size := 1
		for size < len(few) { // few texts of statements: their number is bounded
			size *= 2
		}
		list := make([]any, size)
		for i := range list {
			list[i] = few[min(i, len(few)-1)]
		}
		conditions, args = append(conditions, `place IN (`+engine.List("?", size)+`)`), append(args, list)
	}
	return conditions, args
}

// readSealed reads the codes of units. Error: CodeInternal where one is missing; then
// the others are found.
func (r *Register) readSealed(ctx context.Context, poolID string, all []wanted) (found map[place]sealedCode, err error) {
	err = r.ledger.SnapshotOn(ctx, r.ledger.Engine.ReadBack, func(tx *sql.Tx) error {
		found = map[place]sealedCode{}
		var texts []string
		var args []any
		flush := func() error {
			text, err := r.ledger.Engine.Placeholder.ReplacePlaceholders(strings.Join(texts, " UNION ALL "))
			if err == nil && len(texts) > 0 {
				err = readCodes(ctx, tx, text, args, found)
			}
			texts, args = nil, nil
			return err
		}
		for i := range all {
			conditions, lists := all[i].ranges()
			for n, condition := range conditions {
				texts = append(texts, `SELECT prize_id, place, key_id, sealed FROM codes WHERE pool_id = ? AND prize_id = ? AND `+condition)
				args = append(append(args, poolID, all[i].prizeID), lists[n]...)
				if len(texts) == prizesMax {
					if err := flush(); err != nil {
						return err
					}
				}
			}
		}
		return cmp.Or(flush(), r.checkAll(ctx, tx, poolID, all, found))
	})
	return found, err
}

func readCodes(ctx context.Context, tx *sql.Tx, text string, args []any, found map[place]sealedCode) error {
	rows, err := engine.QueryAll(ctx, tx, func(s engine.Scanner) (r codeRow, err error) {
		err = s.Scan(&r.prizeID, &r.number, &r.keyID, &r.sealed) // it is not searched for: no digest
		return r, err
	}, text, args...)
	for i := range rows {
		found[rows[i].place] = rows[i].sealedCode
	}
	return err
}

// checkAll reports a unit without its code. A server that cannot be written may only not
// have it yet.
func (r *Register) checkAll(ctx context.Context, tx *sql.Tx, poolID string, all []wanted, found map[place]sealedCode) error {
	for i := range all {
		for _, unit := range all[i].units {
			if _, isThere := found[place{all[i].prizeID, unit}]; !isThere {
				return r.ledger.Absent(ctx, tx, draw.Errorf(draw.CodeInternal, "unit %d of prize %q in pool %q has no code", unit, all[i].prizeID, poolID))
			}
		}
	}
	return nil
}

// open opens a code. Error: CodeSealKeyMissing. If this instance may lack the key, it
// stops drawing from the pool until a check finds that all of the pool's codes open. If
// a check has found the key right, only this code is damaged. The pool then continues,
// because one damaged code must not stop it.
func (r *Register) open(poolID, prizeID string, code sealedCode) (string, error) {
	if key := r.keys.Ring().Key(code.keyID); key != nil {
		if text, err := key.Open(codeName(poolID, prizeID), code.sealed); err == nil {
			return string(text), nil
		}
	}
	if o := r.opens.Load(); o == nil || o.ring != r.keys.Ring() || !o.opensAll(o.ring, []string{code.keyID}) {
		r.noteAway(poolID)
	}
	return "", draw.ErrorSealKeyMissing(poolID)
}

// noteAway notes a pool whose codes do not open.
func (r *Register) noteAway(poolID string) {
	before := r.opens.Load()
	after := &opens{away: map[string]bool{poolID: true}, foreign: map[string]bool{}}
	if before != nil {
		after.ring = before.ring
		if before.away[poolID] {
			return
		}
		maps.Copy(after.away, before.away)
		maps.Copy(after.foreign, before.foreign)
	}
	if r.opens.CompareAndSwap(before, after) {
		r.tell(before, after)
	}
}
