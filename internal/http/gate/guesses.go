package gate

import (
	"net/netip"
	"sync"
	"time"

	"drawsvc/internal/http/conns"
)

const (
	// Burst is how many wrong tokens an address may send at once.
	Burst = 20
	// Every is the interval at which that address may then send one more.
	Every = 5 * time.Second
	// MaxGuessers is the maximum number of addresses that are counted individually. The
	// others share one count.
	MaxGuessers = 4096
)

// Guesses counts the wrong tokens of each address. A right token is never refused
// because of guesses: otherwise a caller that guesses through a proxy would exclude all
// other callers of that proxy. So the count does not prevent guessing; the length of
// the tokens does.
type Guesses struct {
	mu sync.Mutex
	// full is when an address will have its whole burst again.
	full map[netip.Addr]time.Time
	// others is when all addresses beyond MaxGuessers together will have their burst
	// again.
	others time.Time
	// swept is when addresses with their whole burst were last dropped.
	swept time.Time
}

// NewGuesses returns counts of 0.
func NewGuesses() *Guesses { return &Guesses{full: map[netip.Addr]time.Time{}} }

// Wrong records a wrong token from an address, and reports whether there were too many.
func (g *Guesses) Wrong(from netip.Addr, now time.Time) (tooMany bool) {
	from = conns.CallerOf(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	full, isCounted := g.full[from]
	if !isCounted && len(g.full) >= MaxGuessers {
		g.sweep(now)
	}
	if !isCounted && len(g.full) >= MaxGuessers {
		if tooMany = isSpent(g.others, now); !tooMany {
			g.others = later(g.others, now).Add(Every)
		}
		return tooMany
	}
	if tooMany = isSpent(full, now); !tooMany {
		g.full[from] = later(full, now).Add(Every)
	}
	return tooMany
}

// isSpent reports whether a burst is used up now; full is when it will be whole again.
func isSpent(full, now time.Time) bool { return full.Sub(now) > (Burst-1)*Every }

// sweep drops addresses that have their whole burst. g.mu is held.
func (g *Guesses) sweep(now time.Time) {
	if now.Sub(g.swept) < Every {
		return
	}
	g.swept = now
	for from, full := range g.full {
		if !full.After(now) {
			delete(g.full, from)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
