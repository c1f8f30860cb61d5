package live

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// at is the time at which these tests begin.
var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// TestFrameEstimatesRateAndEndOfStock: the rate is awards per second over ten seconds.
// The end of the stock follows from the units that were issued over five minutes.
func TestFrameEstimatesRateAndEndOfStock(t *testing.T) {
	p, o := newPast(), some()[0]
	o.Stocked, o.Issued, o.Awards = 10_000, 0, 0
	show := func(seconds int) poolJSON {
		now := at.Add(time.Duration(seconds) * time.Second)
		p.add([]draw.Overview{o}, now)
		return newPool(&o, p, now)
	}
	first := show(0)
	require.Zero(t, first.Rate)
	require.Nil(t, first.EndsAt, "one reading knows no rate")
	for second := 1; second <= 400; second++ {
		o.Issued, o.Awards = o.Issued+2, o.Awards+8 // three in four awards are endless blanks
		show(second)
	}
	for second := 401; second <= 410; second++ {
		o.Awards += 4
		show(second)
	}
	last := show(411)
	require.InDelta(t, 3.6, last.Rate, 0.05, "nine seconds of four in ten")
	rate := 2.0 * 289 / 300 // issued per second over the last five minutes
	end, err := time.Parse(time.RFC3339Nano, *last.EndsAt)
	require.NoError(t, err)
	require.InDelta(t, float64(o.Remaining())/rate, end.Sub(at.Add(411*time.Second)).Seconds(), 60)
	require.LessOrEqual(t, len(p.readings), 302, "what is past is dropped")

	o.Awards += 199 - 40 // awards since the last unit was issued
	require.NotNil(t, show(412).EndsAt)
	o.Awards++
	require.Nil(t, show(413).EndsAt, "nothing is won any more, and what was says nothing")
	o.Issued, o.Awards = o.Issued+1, o.Awards+1
	require.NotNil(t, show(414).EndsAt, "a unit is issued again")

	o.State = draw.StatePaused
	require.Nil(t, show(415).EndsAt, "a paused pool has no end")
	o = some()[0]
	require.Zero(t, show(416).Rate, "made again under the same name")
}

// TestFramesAreBounded: a frame that would be too long is sent without its prizes.
func TestFramesAreBounded(t *testing.T) {
	var pools []draw.Overview
	for range PoolsMax {
		o := some()[0]
		for range PrizesMax {
			o.Prizes = append(o.Prizes, draw.Prize{ID: strings.Repeat("p", 64), Name: strings.Repeat("n", 200)})
		}
		o.PrizeCount = int64(len(o.Prizes))
		pools = append(pools, o)
	}
	p := newPast()
	p.add(pools, at)
	frame := encode(pools, p, at)
	require.Less(t, len(frame), frameMax)
	require.Contains(t, string(frame), `"prizes":null`)
	var f frameJSON
	require.NoError(t, json.Unmarshal(frame[len("data: "):], &f))
	require.Len(t, f.Pools, PoolsMax)
	require.EqualValues(t, 6, f.Pools[0].Remaining)
}

// TestFrameHasLowPrizes: a pool is shown with the prizes that its rules warn of.
// Without such prizes the member is absent.
func TestFrameHasLowPrizes(t *testing.T) {
	p, pools := newPast(), some()
	p.add(pools, at)
	require.NotContains(t, string(encode(pools, p, at)), `"low"`)
	pools[0].Money.Low = []draw.LowPrize{{PoolID: "spring", PrizeID: "gold", Remaining: 6, Below: 9}}
	require.Contains(t, string(encode(pools, p, at)), `"low":[{"prize":"gold","remaining":6,"below":9}]`)
}

// TestEndlessBlanks: endless blanks have no stock, and a pool with too many prizes
// shows no prizes.
func TestEndlessBlanks(t *testing.T) {
	p := newPrize(&draw.Prize{ID: "none", Kind: draw.KindBlank, Stocked: draw.EndlessStock, Issued: 3})
	require.Nil(t, p.Stocked)
	require.Nil(t, p.Remaining)
	require.Equal(t, draw.KindBlank, p.Kind)
	o := some()[0]
	o.PrizeCount = 51
	past := newPast()
	past.add([]draw.Overview{o}, at)
	require.Nil(t, newPool(&o, past, at).Prizes)
}
