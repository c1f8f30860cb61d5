package draw

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw/drawtest"
)

// urnOf returns an urn whose prizes p0, p1 … hold the given units.
func urnOf(stock ...int64) *Urn {
	u := NewUrn("p")
	u.State = StateOpen
	for i, n := range stock {
		u.put(Prize{ID: fmt.Sprintf("p%d", i), Name: "Prize", Stocked: n})
	}
	return u
}

// take removes the unit that the version takes, as a plan does.
func (u *Urn) take(version int64) int {
	place := u.pick(u.numbers(version))
	u.move(place, 1)
	return place
}

// TestUrnIsUniform: each of the remaining units is as likely as any other, so
// a prize's chance is its share of them, whatever is empty around it.
func TestUrnIsUniform(t *testing.T) {
	stock := []int64{0, 90, 0, 9, 1, 0, 400, 500}
	u := urnOf(stock...)
	wins := make([]int64, len(stock))
	for version := range int64(100_000) {
		place := u.take(version)
		wins[place]++
		u.putBack(place)
	}
	require.NoError(t, drawtest.Judge(sampleOf(wins, stock)))
	require.Equal(t, int64(1000), u.Remaining())
}

// sampleOf leaves out prizes that hold nothing, once they are seen to have won
// nothing: they add no degree of freedom.
func sampleOf(wins, stock []int64) drawtest.Sample {
	var s drawtest.Sample
	for i := range stock {
		if stock[i] > 0 || wins[i] > 0 {
			s.Wins, s.Stock = append(s.Wins, wins[i]), append(s.Stock, stock[i])
		}
	}
	return s
}

// TestUrnOrderIsUniform empties an urn of four units, two of them alike, many
// times: its twelve orders are equally likely.
func TestUrnOrderIsUniform(t *testing.T) {
	orders := map[string]int{}
	s := drawtest.Sample{Wins: make([]int64, 12), Stock: make([]int64, 12)}
	for range 24_000 {
		u, order := urnOf(2, 1, 1), ""
		for u.Remaining() > 0 {
			order += fmt.Sprint(u.take(u.Remaining()))
		}
		if _, seen := orders[order]; !seen {
			require.Less(t, len(orders), 12, "an order that cannot be: %s", order)
			s.Stock[len(orders)] = 1
			orders[order] = len(orders)
		}
		s.Wins[orders[order]]++
	}
	require.Len(t, orders, 12)
	require.NoError(t, drawtest.Judge(s))
}

// TestUrnFirstTenth is the order of wins without any database: the first tenth
// of many pools of 90, 9 and 1 %.
func TestUrnFirstTenth(t *testing.T) {
	var samples []drawtest.Sample
	for range 200 {
		u := urnOf(900, 90, 10)
		s := drawtest.Sample{Wins: make([]int64, 3), Stock: []int64{900, 90, 10}}
		for version := range int64(100) {
			s.Wins[u.take(version)]++
		}
		samples = append(samples, s)
	}
	require.NoError(t, drawtest.Judge(samples...))
}

func TestUrnToTheLastUnit(t *testing.T) {
	u := urnOf(3, 0, 1)
	won := make([]int, 3)
	for u.covers(1) {
		won[u.take(u.Remaining())]++
	}
	require.Equal(t, []int{3, 0, 1}, won)
	require.Zero(t, u.Remaining())
	require.False(t, u.covers(1))
	u.putBack(2)
	require.True(t, u.covers(1))
	require.False(t, u.covers(2))
	require.Equal(t, 2, u.take(1))
}

// TestUrnAtTheEdges fills an urn with as much as a pool may hold.
func TestUrnAtTheEdges(t *testing.T) {
	const units = int64(PrizesMax) * StockMax
	require.Positive(t, units, "the sum of all units is an int64")
	const each = units / 1000
	u := NewUrn("p")
	for i := range 1000 {
		u.put(Prize{ID: fmt.Sprint(i), Stocked: each})
	}
	require.Equal(t, units, u.Remaining())
	require.Equal(t, 999, u.units.find(units-1))
	for version := range int64(1000) {
		u.take(version)
	}
	require.Equal(t, units-1000, u.Remaining())
	for i := range 999 {
		u.put(Prize{ID: fmt.Sprint(i), Stocked: each, Issued: each})
	}
	require.Equal(t, 999, u.take(1), "the only one that is left")
}

func TestUrnInvalidated(t *testing.T) {
	u := urnOf(5, 5)
	u.Mode, u.Version = "optimistic", 9
	u.Invalidate()
	require.Equal(t, [3]any{State(""), "", int64(0)}, [3]any{u.State, u.Mode, u.Version})
	require.Zero(t, u.Remaining())
	require.Zero(t, u.Prizes())
	u.put(Prize{ID: "new", Stocked: 1})
	require.Equal(t, 0, u.take(1))
}

// TestUrnAgainstMap: whatever is put, taken and put back, the urn holds what a
// map says.
func TestUrnAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, model := NewUrn("p"), map[string]Prize{}
		var out []int
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "id"))
				stocked := rapid.Int64Range(0, 50).Draw(t, "stocked")
				p := Prize{ID: id, Stocked: stocked, Issued: rapid.Int64Range(0, stocked).Draw(t, "issued")}
				u.put(p)
				model[id] = p
				out = nil // units of a plan that was made before a read are not put back after it
			},
			"take": func(t *rapid.T) {
				if u.Remaining() == 0 {
					t.Skip("empty")
				}
				place := u.take(rapid.Int64().Draw(t, "version"))
				p := model[u.prizes[place].id]
				if p.Remaining() == 0 {
					t.Fatalf("a unit of %q, which has none", p.ID)
				}
				p.Issued++
				model[p.ID] = p
				out = append(out, place)
			},
			"put back": func(t *rapid.T) {
				if len(out) == 0 {
					t.Skip("nothing is out")
				}
				place := out[len(out)-1]
				out = out[:len(out)-1]
				u.putBack(place)
				p := model[u.prizes[place].id]
				p.Issued--
				model[p.ID] = p
			},
			"": func(t *rapid.T) { agree(t, u, model) },
		})
	})
}

func agree(t *rapid.T, u *Urn, model map[string]Prize) {
	var remaining int64
	for i, p := range u.prizes {
		want := model[p.id]
		if p.stocked != want.Stocked || p.issued != want.Issued {
			t.Fatalf("prize %q: %d of %d, want %d of %d", p.id, p.issued, p.stocked, want.Issued, want.Stocked)
		}
		if n := want.Remaining(); n > 0 && (u.units.find(remaining) != i || u.units.find(remaining+n-1) != i) {
			t.Fatalf("the units of prize %q are not where they should be", p.id)
		}
		remaining += want.Remaining()
	}
	if u.Remaining() != remaining || u.Prizes() != len(model) {
		t.Fatalf("%d units of %d prizes, want %d of %d", u.Remaining(), u.Prizes(), remaining, len(model))
	}
}
