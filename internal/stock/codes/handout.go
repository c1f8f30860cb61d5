package codes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// wanted lists the units of a prize whose codes are handed out, in order. The code of a
// unit is "" until it is unsealed.
type wanted struct {
	prizeID string
	units   []int64
	codes   []string
	// isRead states for each unit whether its row was read.
	isRead []bool
}

// sealedCode is a code in the form in which the database stores it.
type sealedCode struct {
	keyID          string
	sealed, digest []byte
}

// place is the position of a code in its prize's list.
type place struct {
	prizeID string
	number  int64
}

// HandOut adds the codes to the awards of one pool's draws that have codes. It reads only
// the codes that the write of the awards has not read. One statement is enough, because
// the units of a prize in a batch are consecutive. HandOut reads from the server that
// takes the writes. Errors: CodeSealKeyMissing, and those of the store. After an error
// some draws lack a code, see [draw.Draw.AsksStore].
func (r *Register) HandOut(ctx context.Context, poolID string, draws []*draw.Draw) error {
	fault.At(fault.BeforeCodes)
	r.openSealed(poolID, draws)
	all := wantedOf(draws)
	if len(all) == 0 {
		return nil
	}
	err := r.readWanted(ctx, poolID, all)
	for _, d := range draws {
		for i := range d.Awards {
			if a := &d.Awards[i]; isWanted(a) {
				w := find(all, a.PrizeID)
				at, _ := slices.BinarySearch(w.units, a.Unit)
				a.Code = w.codes[at]
			}
		}
	}
	return err
}

// openSealed unseals the codes that were read with the write of their awards. A code
// that cannot be unsealed is read again, because it may have been sealed again since the
// write. Only that read decides whether the pool's key is missing.
func (r *Register) openSealed(poolID string, draws []*draw.Draw) {
	for _, d := range draws {
		for i := range d.Awards {
			if a := &d.Awards[i]; isWanted(a) && a.Sealed != nil {
				a.Code, _ = r.unseal(poolID, a.PrizeID, sealedCode{keyID: a.Sealed.KeyID, sealed: a.Sealed.Bytes})
			}
		}
	}
}

// isWanted reports whether an award has a code that is not known yet.
func isWanted(a *draw.Award) bool { return a.HasCode && a.Code == "" }

// wantedOf returns the units of draws whose codes are wanted, by prize, in order.
func wantedOf(draws []*draw.Draw) (all []wanted) {
	for _, d := range draws {
		for i := range d.Awards {
			a := &d.Awards[i]
			if !isWanted(a) {
				continue
			}
			at, known := slices.BinarySearchFunc(all, a.PrizeID, comparePrize)
			if !known {
				all = slices.Insert(all, at, wanted{prizeID: a.PrizeID})
			}
			all[at].units = append(all[at].units, a.Unit)
		}
	}
	for i := range all {
		slices.Sort(all[i].units)
		all[i].units = slices.Compact(all[i].units)
		all[i].codes, all[i].isRead = make([]string, len(all[i].units)), make([]bool, len(all[i].units))
	}
	return all
}

func comparePrize(w wanted, prizeID string) int { return strings.Compare(w.prizeID, prizeID) }

// find returns the wanted units of a prize, nil for none.
func find(all []wanted, prizeID string) *wanted {
	if at, known := slices.BinarySearchFunc(all, prizeID, comparePrize); known {
		return &all[at]
	}
	return nil
}

const (
	// prizesMax and unitsMax bound one statement of a lookup.
	prizesMax = 50
	unitsMax  = 256
	// gapsMax is the maximum number of rows in a range for each wanted row.
	gapsMax = 4
)

// ranges returns the conditions that select the units, each with its arguments. If the
// units are close together, that is one range. Otherwise it returns lists.
func (w *wanted) ranges() (conditions []string, args [][]any) {
	first, last := w.units[0], w.units[len(w.units)-1]
	if last-first < int64(len(w.units))*gapsMax {
		return []string{`place BETWEEN ? AND ?`}, [][]any{{first, last}}
	}
	for few := range slices.Chunk(w.units, unitsMax) {
		size := 1
		for size < len(few) { // sizes are powers of two, which bounds the number of statements with different texts
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

// spans calls the function each with the first and the last unit of each range of a
// prize's units. Units that are far apart are in different ranges.
func (w *wanted) spans(each func(first, last int64)) {
	first := 0
	for i := range w.units {
		if next := i + 1; next == len(w.units) || w.units[next]-w.units[i] > gapsMax {
			each(w.units[first], w.units[i])
			first = next
		}
	}
}

// lookup is a statement that finds codes.
type lookup struct {
	text string
	args []any
}

// lookups returns the statements that find all units.
func (r *Register) lookups(poolID string, all []wanted) (statements []lookup, err error) {
	if text := r.ledger.Engine.CodeRanges; text != "" {
		var prizes []string
		var from, to []int64
		for i := range all {
			all[i].spans(func(first, last int64) {
				prizes, from, to = append(prizes, all[i].prizeID), append(from, first), append(to, last)
			})
		}
		return []lookup{{text, []any{poolID, prizes, from, to}}}, nil
	}
	var texts []string
	var args []any
	for i := range all {
		conditions, lists := all[i].ranges()
		for n, condition := range conditions {
			texts = append(texts, `SELECT prize_id, place, key_id, sealed FROM codes WHERE pool_id = ? AND prize_id = ? AND `+condition)
			args = append(append(args, poolID, all[i].prizeID), lists[n]...)
			if isLast := i == len(all)-1 && n == len(conditions)-1; isLast || len(texts) == prizesMax {
				text, err := r.ledger.Engine.Placeholder.ReplacePlaceholders(strings.Join(texts, " UNION ALL "))
				if err != nil {
					return nil, err
				}
				statements = append(statements, lookup{text, args})
				texts, args = nil, nil
			}
		}
	}
	return statements, nil
}

// readWanted reads and unseals the codes of units. Errors: CodeInternal if a code is
// missing, CodeSealKeyMissing if a code cannot be unsealed. In the second case it still
// sets the other codes.
func (r *Register) readWanted(ctx context.Context, poolID string, all []wanted) error {
	statements, err := r.lookups(poolID, all)
	if err != nil {
		return err
	}
	var unopened error
	err = r.ledger.ReadBack(ctx, func(q engine.Querier) error {
		unopened = nil
		for i := range all {
			clear(all[i].codes)
			clear(all[i].isRead)
		}
		var prizeID, keyID engine.Word
		var number int64
		var sealed engine.Bytes
		fields := []any{&prizeID, &number, &keyID, &sealed}
		for _, s := range statements {
			err := engine.EachRow(ctx, q, s.text, s.args, fields, func() {
				code := sealedCode{keyID: string(keyID), sealed: sealed}
				unopened = cmp.Or(unopened, r.fill(poolID, find(all, string(prizeID)), number, code))
			})
			if err != nil {
				return err
			}
		}
		return r.checkAll(ctx, q, poolID, all)
	})
	return cmp.Or(err, unopened)
}

// fill unseals the code of a place, if its unit is wanted. Error: CodeSealKeyMissing.
func (r *Register) fill(poolID string, w *wanted, number int64, code sealedCode) error {
	at, isWanted := slices.BinarySearch(w.units, number)
	if !isWanted {
		return nil
	}
	w.isRead[at] = true
	text, err := r.open(poolID, w.prizeID, code)
	w.codes[at] = text
	return err
}

// checkAll returns an error if a unit has no code. A server that cannot be written to may
// not have received the code yet; then the error says so.
func (r *Register) checkAll(ctx context.Context, q engine.Querier, poolID string, all []wanted) error {
	for i := range all {
		w := &all[i]
		if at := slices.Index(w.isRead, false); at >= 0 {
			return r.ledger.Absent(ctx, q, draw.Errorf(draw.CodeInternal, "unit %d of prize %q in pool %q has no code", w.units[at], w.prizeID, poolID))
		}
	}
	return nil
}

// open unseals a code. Error: CodeSealKeyMissing. Then the key may be missing here. So
// this instance stops drawing from the pool until a check can unseal all of the pool's
// codes. If a check has found the key right, only this code is damaged. Then the pool
// continues, because one damaged code must not stop it.
func (r *Register) open(poolID, prizeID string, code sealedCode) (string, error) {
	if text, isOpen := r.unseal(poolID, prizeID, code); isOpen {
		return text, nil
	}
	if o := r.opens.Load(); o == nil || o.ring != r.keys.Ring() || !o.opensAll(o.ring, []string{code.keyID}) {
		r.noteAway(poolID)
	}
	return "", draw.ErrorSealKeyMissing(poolID)
}

// unseal unseals a code, and reports whether its key is here and right.
func (r *Register) unseal(poolID, prizeID string, code sealedCode) (text string, isOpen bool) {
	key := r.keys.Ring().Key(code.keyID)
	if key == nil {
		return "", false
	}
	opened, err := key.Open(codeName(poolID, prizeID), code.sealed)
	return string(opened), err == nil
}

// noteAway records that codes of a pool cannot be unsealed here.
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
