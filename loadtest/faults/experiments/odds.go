package experiments

import (
	"fmt"

	"drawsvc/internal/draw/drawtest"
	"drawsvc/loadtest/faults/history"
)

// judgeOdds holds the first awards of pools that are stocked alike against the
// law of a draw. How many are counted must not depend on what was won.
func (t *trial) judgeOdds(pools []string, first int) error {
	var samples []drawtest.Sample
	for _, pool := range pools {
		s, err := t.sample(pool, first)
		t.Must(err)
		samples = append(samples, s)
	}
	if err := drawtest.Judge(samples...); err != nil {
		t.Verdict.Say(history.Odds, "%v", err)
	}
	t.Note("odds: %s", sumOf(samples))
	return nil
}

// sample counts the prizes of a pool's first awards.
func (t *trial) sample(pool string, first int) (s drawtest.Sample, err error) {
	rows, err := t.Rows(pool)
	if err != nil {
		return s, err
	}
	if len(rows.Awards) < first {
		return s, fmt.Errorf("pool %s has %d awards of %d that are to be judged", pool, len(rows.Awards), first)
	}
	wins := map[string]int64{}
	for _, a := range rows.Awards[:first] {
		wins[a.Prize]++
	}
	for _, p := range t.Made[pool] {
		s.Stock, s.Wins = append(s.Stock, p.Stock), append(s.Wins, wins[p.ID])
	}
	return s, nil
}

// sumOf says what was won of pools that are stocked alike.
func sumOf(samples []drawtest.Sample) string {
	wins := make([]int64, len(samples[0].Wins))
	for _, s := range samples {
		for i, n := range s.Wins {
			wins[i] += n
		}
	}
	return fmt.Sprintf("won %v of pools that hold %v each", wins, samples[0].Stock)
}
