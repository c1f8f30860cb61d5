package http

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// guessBurst is how many wrong tokens an address may send at once;
	// guessEvery is how often it may send another one after that.
	guessBurst = 20
	guessEvery = 5 * time.Second
	// guessersMax bounds the addresses that are counted one by one. Those
	// beyond share one count.
	guessersMax = 4096
)

// guesses counts the wrong tokens of each address. A right token is never refused for
// them: whoever guesses behind the same proxy would keep everybody out. So they slow
// down nobody who guesses; the length of the tokens does.
type guesses struct {
	mu sync.Mutex
	// full is when an address will have its whole burst again.
	full map[netip.Addr]time.Time
	// others is full of the addresses beyond guessersMax.
	others time.Time
	// swept is when addresses that have their whole burst were last dropped.
	swept time.Time
}

func newGuesses() *guesses { return &guesses{full: map[netip.Addr]time.Time{}} }

// guesser is the address that counts: a caller with IPv6 has a whole /64.
func guesser(from netip.Addr) netip.Addr {
	if !from.Is6() || from.Is4In6() {
		return from.Unmap()
	}
	whole, _ := from.WithZone("").Prefix(64) // cannot fail for 64 bits of 128
	return whole.Addr()
}

// wrong notes that a wrong token came from an address. It reports whether too many
// came from there.
func (g *guesses) wrong(from netip.Addr, now time.Time) (tooMany bool) {
	from = guesser(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	full, isCounted := g.full[from]
	if !isCounted && len(g.full) >= guessersMax {
		g.sweep(now)
	}
	if !isCounted && len(g.full) >= guessersMax {
		if tooMany = isSpent(g.others, now); !tooMany {
			g.others = later(g.others, now).Add(guessEvery)
		}
		return tooMany
	}
	if tooMany = isSpent(full, now); !tooMany {
		g.full[from] = later(full, now).Add(guessEvery)
	}
	return tooMany
}

// isSpent reports whether a burst that will be whole at full has nothing left now.
func isSpent(full, now time.Time) bool { return full.Sub(now) > (guessBurst-1)*guessEvery }

// sweep drops addresses that have their whole burst. g.mu is held.
func (g *guesses) sweep(now time.Time) {
	if now.Sub(g.swept) < guessEvery {
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
