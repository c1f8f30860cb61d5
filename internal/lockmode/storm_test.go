package lockmode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drawsvc/internal/draw"
)

// callers is the number of concurrent callers.
const callers = 64

// storm is many callers that request draws from one pool at several services.
type storm struct {
	services []*service
	poolID   string
	prefix   string // of the draws' names
	asked    int
	count    func(i int) int // units of the i-th draw; nil for one
	before   func(i int)     // runs before the i-th draw
	// stay keeps each caller at one service, and makes callers of fast services draw
	// more often than those of slow ones.
	stay bool
}

// tally counts the final answers.
type tally struct {
	mu      sync.Mutex
	won     map[string]draw.Draw
	refused map[draw.Code][]draw.Request
	busy    map[draw.Code]int
}

// run repeats every draw until it has a final answer.
func (s storm) run(t *testing.T) *tally {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	y := &tally{won: map[string]draw.Draw{}, refused: map[draw.Code][]draw.Request{}, busy: map[draw.Code]int{}}
	var group sync.WaitGroup
	var next atomic.Int64
	for caller := range callers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < s.asked; i = int(next.Add(1)) - 1 {
				if s.before != nil {
					s.before(i)
				}
				s.ask(ctx, caller, i, y)
			}
		})
	}
	group.Wait()
	return y
}

// ask requests one draw. Three of four have no key, so the service creates their names.
func (s storm) ask(ctx context.Context, caller, i int, y *tally) {
	r := draw.Request{PoolID: s.poolID, UserID: fmt.Sprint("user-", i%7), DrawID: fmt.Sprintf("%s-%d", s.prefix, i), Named: i%4 == 0, Count: 1}
	if s.count != nil {
		r.Count = s.count(i)
	}
	services := s.services[i%len(s.services):]
	services = append(services[:len(services):len(services)], s.services[:i%len(s.services)]...)
	if s.stay {
		services = s.services[caller%len(s.services):][:1]
	}
	d, err := insist(ctx, services, r, func(code draw.Code) {
		y.mu.Lock()
		y.busy[code]++
		y.mu.Unlock()
	})
	y.mu.Lock()
	defer y.mu.Unlock()
	if err != nil {
		y.refused[draw.CodeOf(err)] = append(y.refused[draw.CodeOf(err)], r)
		return
	}
	y.won[r.DrawID] = d
}

// insist repeats a draw after a "busy" answer, at the next service and with the same
// name, until its answer is final or ctx ends.
func insist(ctx context.Context, services []*service, r draw.Request, busy func(draw.Code)) (draw.Draw, error) {
	for i := 0; ; i++ {
		d, err := services[i%len(services)].Draw(ctx, r)
		switch draw.CodeOf(err) {
		case draw.CodeContended, draw.CodeOverloaded, draw.CodeOutcomeUnknown, draw.CodeStoreUnavailable, draw.CodeLockUnavailable:
		default:
			return d, err
		}
		if ctx.Err() != nil {
			return d, err
		}
		if busy != nil {
			busy(draw.CodeOf(err))
		}
		r.Named = true
		pause := time.NewTimer(rand.N(4 * time.Millisecond))
		<-pause.C
	}
}

// units counts the won units, by prize.
func (y *tally) units() map[string]int64 {
	units := map[string]int64{}
	for _, d := range y.won {
		for _, a := range d.Awards {
			units[a.PrizeID]++
		}
	}
	return units
}

// soldOutExactly returns an error if draws of one unit, which together requested more
// than the stock, have not sold out the pool exactly. stocked has the stock of each
// prize.
func (y *tally) soldOutExactly(asked int, stocked ...int64) error {
	var total int64
	units := y.units()
	for i, n := range stocked {
		total += n
		if id := string(rune('a' + i)); units[id] != n {
			return fmt.Errorf("prize %s: %d units were won, there were %d", id, units[id], n)
		}
	}
	won, sold := len(y.won), len(y.refused[draw.CodeSoldOut])
	if int64(won) != total || won+sold != asked || len(y.refused) > 1 {
		return fmt.Errorf("of %d draws %d won and %d were sold out, with a stock of %d; refused: %v", asked, won, sold, total, y.codes())
	}
	return nil
}

func (y *tally) codes() map[draw.Code]int {
	n := map[draw.Code]int{}
	for code, requests := range y.refused {
		n[code] = len(requests)
	}
	return n
}
