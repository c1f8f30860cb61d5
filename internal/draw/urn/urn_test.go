package urn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/urn"
)

// taken returns the plan that takes the unit of a version.
func taken(u *urn.Urn, version int64) *urn.Plan {
	u.Version = version - 1
	return u.Plan([]*urn.Ask{asking("d", 1)}, noon())
}

// restocked makes an urn read prizes that another instance changed.
func restocked(u *urn.Urn, prizes ...draw.Prize) {
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: u.Next(1), Prizes: prizes})
}

// aimed gives every version the number unit.
type aimed struct{ unit int64 }

func (a *aimed) Of(int64) urn.Numbers { return a }

func (a *aimed) Below(int64) int64 { return a.unit }

// at returns the award that an urn makes for the unit at a place. Then it puts the unit
// back. The receiver is the source of the urn's numbers.
func (a *aimed) at(u *urn.Urn, unit int64) draw.Award {
	a.unit = unit
	p := u.Plan([]*urn.Ask{asking("d", 1)}, noon())
	defer p.Undo()
	return p.Awards[0]
}

// TestUrnIsUniform: each of the remaining units is equally likely, so a prize's chance
// is its share of them, even if other prizes around it are empty.
func TestUrnIsUniform(t *testing.T) {
	stock := []int64{0, 90, 0, 9, 1, 0, 400, 500}
	u := urnOf(draw.StateOpen, stock...)
	wins := map[string]int64{}
	for version := range int64(100_000) {
		p := taken(u, version+1)
		wins[p.Awards[0].PrizeID]++
		p.Undo()
	}
	require.NoError(t, drawtest.Judge(sampleOf(wins, stock)))
	require.Equal(t, int64(1000), u.Remaining())
}

// sampleOf returns the sample of the prizes that have units. It checks that the others
// won nothing; they add no degree of freedom.
func sampleOf(wins map[string]int64, stock []int64) drawtest.Sample {
	var s drawtest.Sample
	for i := range stock {
		if won := wins[fmt.Sprint("p", i)]; stock[i] > 0 || won > 0 {
			s.Wins, s.Stock = append(s.Wins, won), append(s.Stock, stock[i])
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
		u, order := urnOf(draw.StateOpen, 2, 1, 1), ""
		for u.Remaining() > 0 {
			order += taken(u, u.Remaining()).Awards[0].PrizeID
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

// TestUrnFirstTenth checks the order of wins without any database, with the first tenth
// of many pools of 90, 9 and 1 %.
func TestUrnFirstTenth(t *testing.T) {
	var samples []drawtest.Sample
	stock := []int64{900, 90, 10}
	for range 200 {
		u, wins := urnOf(draw.StateOpen, stock...), map[string]int64{}
		for version := range int64(100) {
			wins[taken(u, version+1).Awards[0].PrizeID]++
		}
		samples = append(samples, sampleOf(wins, stock))
	}
	require.NoError(t, drawtest.Judge(samples...))
}

func TestUrnToTheLastUnit(t *testing.T) {
	u := urnOf(draw.StateOpen, 3, 0, 1)
	won, last := map[string]int{}, map[string]*urn.Plan{}
	for version := int64(1); ; version++ {
		p := taken(u, version)
		if p.Err(0) != nil {
			code(t, draw.CodeSoldOut, p.Err(0))
			break
		}
		id := p.Awards[0].PrizeID
		won[id]++
		last[id] = p
	}
	require.Equal(t, map[string]int{"p0": 3, "p2": 1}, won)
	require.Zero(t, u.Remaining())
	last["p2"].Undo()
	require.Equal(t, int64(1), u.Remaining())
	code(t, draw.CodeSoldOut, u.Plan([]*urn.Ask{asking("two", 2)}, noon()).Err(0))
	require.Equal(t, "p2", taken(u, 1).Awards[0].PrizeID)
}

// TestUrnAtTheEdges fills an urn with as much as a pool may hold.
func TestUrnAtTheEdges(t *testing.T) {
	const units = int64(1_000_000) * draw.StockMax // a pool of release 0.1.0 may have a million prizes
	require.Positive(t, units, "the sum of all units is an int64")
	const each = units / 1000
	var full []draw.Prize
	for i := range 1000 {
		full = append(full, draw.Prize{ID: fmt.Sprint(i), Stocked: each})
	}
	aim := &aimed{}
	u := urn.NewUrnFrom("p", aim)
	restocked(u, full...)
	require.Equal(t, "999", aim.at(u, units-1).PrizeID)

	u = urn.NewUrn("p")
	restocked(u, full...)
	require.Equal(t, units, u.Remaining())
	for version := range int64(1000) {
		require.NoError(t, taken(u, version+1).Err(0))
	}
	require.Equal(t, units-1000, u.Remaining())
	for i := range full[:999] {
		full[i].Issued = each
	}
	restocked(u, full[:999]...)
	require.Equal(t, "999", taken(u, 1).Awards[0].PrizeID, "the only one that is left")
}

func TestUrnInvalidated(t *testing.T) {
	u := urnOf(draw.StateOpen, 5, 5)
	u.Mode, u.Version = "optimistic", 9
	u.Invalidate()
	require.Equal(t, [3]any{draw.State(""), "", int64(0)}, [3]any{u.State, u.Mode, u.Version})
	require.Zero(t, u.Remaining())
	require.Zero(t, u.Prizes())
	restocked(u, draw.Prize{ID: "new", Stocked: 1})
	require.Equal(t, "new", taken(u, 1).Awards[0].PrizeID)
}

// stockMap is a model of an urn: a map, and the order in which the prizes were added.
type stockMap struct {
	prizes map[string]draw.Prize
	order  []string
}

func (m *stockMap) put(p draw.Prize) {
	if _, known := m.prizes[p.ID]; !known {
		m.order = append(m.order, p.ID)
	}
	m.prizes[p.ID] = p
}

func (m *stockMap) issue(id string, units int64) {
	p := m.prizes[id]
	p.Issued += units
	m.prizes[id] = p
}

// TestUrnAgainstMap: after any sequence of puts, takes and returns, the urn has the
// same counts as a map.
func TestUrnAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		aim, model := &aimed{}, &stockMap{prizes: map[string]draw.Prize{}}
		u := urn.NewUrnFrom("p", aim)
		var out []*urn.Plan
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "id"))
				stocked := rapid.Int64Range(0, 50).Draw(t, "stocked")
				p := draw.Prize{ID: id, Stocked: stocked, Issued: rapid.Int64Range(0, stocked).Draw(t, "issued")}
				restocked(u, p)
				model.put(p)
				out = nil // after a read, the units of an earlier plan are not put back
			},
			"take": func(t *rapid.T) {
				if u.Remaining() == 0 {
					t.Skip("empty")
				}
				aim.unit = rapid.Int64Range(0, u.Remaining()-1).Draw(t, "unit")
				p := u.Plan([]*urn.Ask{asking("d", 1)}, noon())
				a := p.Awards[0]
				if before := model.prizes[a.PrizeID]; before.Remaining() == 0 || a.Unit != before.Issued+1 {
					t.Fatalf("unit %d of %+v", a.Unit, before)
				}
				model.issue(a.PrizeID, 1)
				out = append(out, p)
			},
			"put back": func(t *rapid.T) {
				if len(out) == 0 {
					t.Skip("nothing is out")
				}
				p := out[len(out)-1]
				out = out[:len(out)-1]
				model.issue(p.Awards[0].PrizeID, -1)
				p.Undo()
			},
			"": func(t *rapid.T) { agree(t, u, aim, model) },
		})
	})
}

func agree(t *rapid.T, u *urn.Urn, aim *aimed, model *stockMap) {
	var remaining int64
	for _, id := range model.order {
		want := model.prizes[id]
		if n := want.Remaining(); n > 0 {
			first, last := aim.at(u, remaining), aim.at(u, remaining+n-1)
			if !slices.Equal([]string{id, id}, []string{first.PrizeID, last.PrizeID}) || first.Unit != want.Issued+1 {
				t.Fatalf("the units of prize %+v are not where they should be: %+v, %+v", want, first, last)
			}
			remaining += n
		}
	}
	if u.Remaining() != remaining || u.Prizes() != len(model.prizes) {
		t.Fatalf("%d units of %d prizes, want %d of %d", u.Remaining(), u.Prizes(), remaining, len(model.prizes))
	}
}
