package history

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

const pool = "small"

// made returns the prizes of a pool at version 2: gold 2, tin 3.
func made() []Prize { return []Prize{{"gold", 2}, {"tin", 3}} }

// draw returns a request that lasts from ms 10·n to 10·n+15, so that it overlaps the
// one before and the one after.
func draw(n int, key string, awards ...Award) Op {
	return Op{
		Kind: Draw, Pool: pool, Key: key, User: "u" + key, Count: max(1, len(awards)), Client: n % 4,
		Call: time.Duration(10*n) * time.Millisecond, Return: time.Duration(10*n+15) * time.Millisecond,
		Status: 200, Sent: true, Awards: awards,
	}
}

func unit(version int64, prize string, n int64) Award {
	return Award{Prize: prize, Unit: n, Version: version}
}

func with(o Op, change func(*Op)) Op {
	change(&o)
	return o
}

func soldOut(o Op) Op {
	return with(o, func(o *Op) { o.Status, o.Code, o.Outcome, o.Awards = 409, "sold-out", "none", nil })
}

func replayed(o Op) Op { return with(o, func(o *Op) { o.Replayed = true }) }
func noAnswer(o Op) Op { return with(o, func(o *Op) { o.Status, o.Awards = 0, nil }) }
func contended(o Op) Op {
	return with(o, func(o *Op) { o.Status, o.Code, o.Outcome, o.Awards = 503, "contended", "none", nil })
}

func stocked(n int, key string, delta, version, stock, issued int64) Op {
	o := draw(n, key)
	o.Kind, o.Prize, o.Delta, o.Version, o.Stocked, o.Issued, o.Awards = Stock, "tin", delta, version, stock, issued, nil
	return o
}

// good returns a history that an urn explains: draws, replays, a refusal, a restock,
// and two lost answers, one to a draw that happened and one to a draw that did not.
func good() []Op {
	return []Op{
		draw(0, "a", unit(3, "tin", 1)),
		draw(1, "b", unit(4, "gold", 1), unit(5, "tin", 2)),
		replayed(draw(2, "a", unit(3, "tin", 1))),
		noAnswer(draw(3, "c")),
		noAnswer(draw(3, "d")),
		contended(draw(4, "e")),
		draw(5, "f", unit(7, "tin", 3)),
		soldOut(draw(6, "g")),
		stocked(7, "m", 1, 8, 4, 3),
		draw(8, "e", unit(9, "tin", 4)),
		replayed(draw(9, "c", unit(6, "gold", 2))),
		soldOut(draw(10, "d")),
	}
}

// rows returns the rows of the database after the history good.
func rows() Rows {
	r := Rows{Pool: pool, Version: 9, Prizes: []PrizeRow{{"gold", 2, 2}, {"tin", 4, 4}}}
	for _, o := range good() {
		if o.Kind == Stock || o.Replayed && o.Key != "c" {
			continue
		}
		for i, a := range o.Awards {
			r.Awards = append(r.Awards, AwardRow{a.Version, o.Key, i + 1, o.User, a.Prize, a.Unit})
		}
	}
	r.Moves = []MoveRow{{1, "gold", 2, "", 2, 0}, {2, "tin", 3, "", 3, 0}, {8, "tin", 1, "m", 4, 3}}
	return r
}

func terms() Terms {
	return Terms{Deadline: time.Second, Excused: func(int, time.Duration, time.Duration) bool { return false }, Settled: 85 * time.Millisecond}
}

func judged(ops []Op, r Rows) []string {
	var v Verdict
	Answers(&v, ops, terms())
	Match(&v, ops, r, terms())
	Laws(&v, r)
	var broken []string
	for _, violation := range v.Violations {
		broken = append(broken, violation.Rule)
	}
	return broken
}

func TestAGoodHistoryBreaksNothing(t *testing.T) {
	require.Empty(t, judged(good(), rows()))
	require.Equal(t, porcupine.Ok, Linear(good(), pool, made(), 2, nil, time.Minute))
}

func TestEveryRuleCanBeBroken(t *testing.T) {
	for rule, sever := range map[string]func(ops []Op, r *Rows) []Op{
		AcknowledgedLost: func(ops []Op, r *Rows) []Op { r.Awards = r.Awards[1:]; return ops },
		DrawTwice: func(ops []Op, r *Rows) []Op {
			r.Awards = append(r.Awards, AwardRow{10, "a", 2, "ua", "tin", 5})
			return ops
		},
		AnswersDiffer: func(ops []Op, _ *Rows) []Op { ops[2].Awards = []Award{unit(4, "gold", 1)}; return ops },
		NothingHappened: func(ops []Op, r *Rows) []Op {
			r.Awards = append(r.Awards, AwardRow{10, "g", 1, "ug", "tin", 5})
			return ops
		},
		Unasked: func(ops []Op, r *Rows) []Op {
			r.Awards = append(r.Awards, AwardRow{10, "z", 1, "uz", "tin", 5})
			return ops
		},
		OverIssued: func(ops []Op, r *Rows) []Op { r.Prizes[0].Stocked = 1; return ops },
		Counters:   func(ops []Op, r *Rows) []Op { r.Prizes[1].Stocked = 5; return ops },
		UnitTwice:  func(ops []Op, r *Rows) []Op { r.Awards[0].Unit = 2; return ops },
		Versions:   func(ops []Op, r *Rows) []Op { r.Version = 10; return ops },
		Undocumented: func(ops []Op, _ *Rows) []Op {
			ops[5].Code = "sorry"
			return ops
		},
		KnownRefused: func(ops []Op, _ *Rows) []Op { return append(ops, soldOut(draw(20, "a"))) },
		Overdue:      func(ops []Op, _ *Rows) []Op { ops[5].Return += time.Minute; return ops },
	} {
		r := rows()
		ops := sever(good(), &r)
		require.Contains(t, judged(ops, r), rule)
	}
}

// TestAgainIsTheSameRequestMadeLater: Again leaves out a request that overlaps the
// first, and a request of another user under the same key.
func TestAgainIsTheSameRequestMadeLater(t *testing.T) {
	same := draw(2, "a", unit(3, "tin", 1))
	other := with(draw(3, "a"), func(o *Op) { o.User, o.Status, o.Code = "another", 422, "idempotency-key-reused" })
	beside := soldOut(draw(1, "a"))
	again := Again([]Op{same, draw(0, "a", unit(3, "tin", 1)), other, beside, contended(draw(4, "b"))})
	require.Equal(t, []Op{same}, again)
}

func TestSoldOutAnswerOfAPlentifulPoolIsFound(t *testing.T) {
	var v Verdict
	terms := terms()
	terms.Plenty = map[string]bool{pool: true}
	Answers(&v, good(), terms)
	require.Equal(t, 2, v.Count(SoldOutUnseen))
}

func TestADefectIsDocumentedOnlyWhereOneWasMade(t *testing.T) {
	failed := with(draw(0, "a"), func(o *Op) { o.Status, o.Code, o.Outcome = 500, "internal", "unknown" })
	for allowed, want := range map[bool]int{true: 0, false: 1} {
		var v Verdict
		terms := terms()
		terms.Internal = allowed
		Answers(&v, []Op{failed}, terms)
		require.Equal(t, want, v.Count(Undocumented))
	}
}

func TestNoOrderExplainsABrokenHistory(t *testing.T) {
	for name, sever := range map[string]func(ops []Op){
		"one unit issued twice":             func(ops []Op) { ops[6].Awards = []Award{unit(7, "tin", 2)} },
		"one unit to two keys":              func(ops []Op) { ops[6].Awards = ops[1].Awards[1:] },
		"a version given twice":             func(ops []Op) { ops[6].Awards = []Award{unit(6, "tin", 3)} },
		"sold out before it was":            func(ops []Op) { ops[7].Call, ops[7].Return = 0, 1 },
		"a replay of what nobody drew":      func(ops []Op) { ops[2].Key = "never" },
		"a replay that differs":             func(ops []Op) { ops[2].Awards = []Award{unit(3, "gold", 1)} },
		"a draw answered as new twice":      func(ops []Op) { ops[2].Replayed = false },
		"a busy draw that had happened":     func(ops []Op) { ops[9].Replayed = true },
		"a unit beyond stock":               func(ops []Op) { ops[8].Delta, ops[8].Stocked = -1, 2 },
		"an answer before it was asked for": func(ops []Op) { ops[0].Call, ops[0].Return = ops[10].Return, ops[10].Return+1 },
		"a prize that the pool does not have": func(ops []Op) {
			ops[9].Awards = []Award{unit(9, "lead", 1)}
		},
	} {
		ops := good()
		sever(ops)
		require.Equal(t, porcupine.Illegal, Linear(ops, pool, made(), 2, nil, time.Minute), name)
	}
}

// TestChangesTakeVersions: a version of an operator's change between two draws is not a
// gap, and a version of a change in the middle of a draw is.
func TestChangesTakeVersions(t *testing.T) {
	ops := []Op{draw(0, "a", unit(3, "tin", 1)), draw(2, "b", unit(6, "tin", 2), unit(7, "gold", 1)), stocked(4, "m", 1, 9, 4, 2)}
	require.Equal(t, porcupine.Ok, Linear(ops, pool, made(), 2, []int64{2, 4, 5, 8}, time.Minute))
	for name, changes := range map[string][]int64{"too few": {4, 8}, "none": nil, "in the middle": {4, 5, 7, 8}, "of a draw": {4, 5, 6, 8}} {
		ops := slices.Clone(ops)
		if name == "in the middle" {
			ops[1].Awards = []Award{unit(6, "tin", 2), unit(8, "gold", 1)}
		}
		require.Equal(t, porcupine.Illegal, Linear(ops, pool, made(), 2, changes, time.Minute), name)
	}
}

// TestAMoveThatIsRefused: a move is refused if, and only if, the stock would be less
// than the issued units.
func TestAMoveThatIsRefused(t *testing.T) {
	refused := func(delta int64) Op {
		return with(stocked(20, "w", delta, 0, 0, 0), func(o *Op) { o.Status, o.Code = 409, "stock-below-issued" })
	}
	require.Equal(t, porcupine.Ok, Linear(append(good(), refused(-1)), pool, made(), 2, nil, time.Minute))
	require.Equal(t, porcupine.Illegal, Linear(append(good(), refused(1)), pool, made(), 2, nil, time.Minute))
}

func TestDoubtsAreThoseWithoutAClearAnswerSince(t *testing.T) {
	h := New()
	for _, o := range good() {
		h.Add(o)
	}
	require.Empty(t, h.Doubtful(85*time.Millisecond), "both were retried")
	open := h.Doubtful(95 * time.Millisecond)
	require.Len(t, open, 1)
	require.Equal(t, "c", open[0].Key)
	require.Equal(t, "no-answer", open[0].Answer())
}

// TestALongHistoryIsCheckedInTime: the history has four clients, a few hundred
// requests, and a tenth of them without an answer.
func TestALongHistoryIsCheckedInTime(t *testing.T) {
	var ops []Op
	version, issued := int64(1), int64(0)
	for n := range 300 {
		key := fmt.Sprint("k", n)
		version, issued = version+1, issued+1
		o := draw(n, key, unit(version, "tin", issued))
		if n%10 == 0 {
			ops = append(ops, noAnswer(o), replayed(with(o, func(o *Op) { o.Call += time.Second; o.Return += time.Second })))
			continue
		}
		ops = append(ops, o)
	}
	all := []Prize{{"tin", 300}}
	require.Equal(t, porcupine.Ok, Linear(ops, pool, all, int64(len(all)), nil, time.Minute))
	ops[len(ops)-1].Awards[0].Unit--
	require.Equal(t, porcupine.Illegal, Linear(ops, pool, all, int64(len(all)), nil, time.Minute))
}
