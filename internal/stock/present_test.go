package stock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// judgeState reads a pool while items are planned, each as one version. It returns an
// error if there are more or fewer items than versions: then the data comes from several
// states.
func judgeState(ctx context.Context, s *stock.Store, read func() (odds.Present, error)) error {
	before, err := s.Pool(ctx, "p")
	if err != nil {
		return err
	}
	planning, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for n := 0; planning.Err() == nil; n++ {
			if _, err := s.PlanItem(ctx, "p", stocktest.StockAt(time.Now().Add(time.Hour), "gold", 1), "", "anna"); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	found := error(nil)
	for range 300 {
		p, err := read()
		if err != nil {
			found = err
			break
		}
		if planned := p.Pool.Version - before.Version; planned != int64(len(p.Items)) {
			found = fmt.Errorf("%d items of %d versions", len(p.Items), planned)
			break
		}
	}
	stop()
	return errors.Join(found, <-done)
}

// TestPresentIsOneState: a pool, its rules and its agenda are read in one state. The
// broken double reads the pool first and the agenda later.
func TestPresentIsOneState(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			_, err := s.CreatePool(t.Context(), draw.Pool{ID: "p", Name: "P", Prizes: []draw.Prize{{ID: "gold", Name: "Gold", Stocked: 5}}}, "anna")
			require.NoError(t, err)
			const many = 100_000
			require.NoError(t, judgeState(t.Context(), s, func() (odds.Present, error) { return s.Present(t.Context(), "p", time.Now(), nil, many) }))

			planned, err := s.Agenda(t.Context(), "p", 0, many, true)
			require.NoError(t, err)
			for i := range planned {
				require.NoError(t, s.RemoveItem(t.Context(), "p", planned[i].Number, "anna"))
			}
			require.ErrorContains(t, judgeState(t.Context(), s, func() (p odds.Present, err error) {
				if p.Pool, err = s.Pool(t.Context(), "p"); err == nil {
					p.Items, err = s.Agenda(t.Context(), "p", 0, many, true)
				}
				return p, err
			}), "items of")
		})
	}
}

// TestPresentHasWhatWasSpent tests the amounts for the budget in force, and for budgets
// of a draft and of the agenda that have other windows. If a window ends before the
// simulation begins, its amount is zero.
func TestPresentHasWhatWasSpent(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			inForce := drawtest.Rules(t, `{"fallback":"none","budget":{"max":"900.00","per":"day"},"limits":[{"of":"draws","max":100,"per":"day"}]}`)
			prizes := []draw.Prize{{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock}}
			for n := range 3 {
				prizes = append(prizes, draw.Prize{ID: fmt.Sprint("prize-", n), Name: "Prize", Value: draw.Amount(100), Stocked: 100})
			}
			_, err := s.CreatePool(t.Context(), draw.Pool{ID: "p", Name: "P", Prizes: prizes, Rules: inForce}, "anna")
			require.NoError(t, err)
			require.NoError(t, stocktest.Large{Pool: "p", Prizes: 3, Awards: 100, Users: 10}.Fill(t.Context(), s.LockDB()))
			stocktest.NoViolations(t, s, "p")
			ever := drawtest.Rules(t, `{"fallback":"none","budget":{"max":"900.00"}}`)
			_, err = s.PlanItem(t.Context(), "p", draw.Item{At: time.Now().Add(time.Hour), Kind: draw.ItemRules, Rules: ever}, "", "anna")
			require.NoError(t, err)

			now := time.Now()
			read := func(at time.Time, draft *draw.Rules, itemsMax int) map[time.Time]int64 {
				p, err := s.Present(t.Context(), "p", at, draft, itemsMax)
				require.NoError(t, err)
				spent := map[time.Time]int64{}
				for _, of := range p.SpentBefore {
					spent[of.From.UTC()] = of.Cents
				}
				return spent
			}
			today := inForce.Budget.Per.Start(now, inForce.Zone).UTC()
			require.Equal(t, map[time.Time]int64{today: 10_000}, read(now, nil, 0))
			require.Equal(t, map[time.Time]int64{today: 10_000, {}: 10_000}, read(now, nil, 100))
			require.Equal(t, map[time.Time]int64{{}: 10_000}, read(now, ever, 100))
			require.Equal(t, map[time.Time]int64{today.AddDate(0, 0, 1): 0}, read(now.AddDate(0, 0, 1), nil, 0))
			require.Equal(t, map[time.Time]int64{today.AddDate(0, 0, -1): 0}, read(now.AddDate(0, 0, -1), nil, 0), "its window has ended")
			hourly := drawtest.Rules(t, `{"fallback":"none","budget":{"max":"900.00","per":"hour"}}`)
			anHour := hourly.Budget.Per.Start(now.Add(-25*time.Hour), hourly.Zone).UTC()
			require.Equal(t, map[time.Time]int64{anHour: 0}, read(now.Add(-25*time.Hour), hourly, 0))
			require.Empty(t, read(now, drawtest.Rules(t, `{"fallback":"none"}`), 0))
		})
	}
}
