package http

import (
	"net/netip"
	"sync"
	"time"

	"drawsvc/internal/access"
)

const (
	// guessBurst is how many wrong tokens an address may send at once;
	// guessEvery is how often it may send another one after that.
	guessBurst = 20
	guessEvery = 5 * time.Second
	// guessersMax bounds the addresses that are counted one by one. Those
	// beyond share one count.
	guessersMax = 4096
	// provenMax bounds the pairs of address and token that are kept.
	provenMax = 4096
)

// guesses limits how many wrong tokens an address may send. Beyond the limit a
// right token is not read either, or the limit would limit nothing: a guesser
// would stop at the answer that differs. Tokens that came from the address
// before go on working, so that a caller behind the same proxy as a guesser is
// not shut out.
type guesses struct {
	mu sync.Mutex
	// full is when an address will have its whole burst again.
	full   map[netip.Addr]time.Time
	proven map[proof]struct{}
	// others is full of the addresses beyond guessersMax.
	others time.Time
	// swept is when addresses that have their whole burst were last dropped.
	swept time.Time
}

// proof is a right token, and where it came from.
type proof struct {
	from   netip.Addr
	digest access.Digest
}

func newGuesses() *guesses {
	return &guesses{full: map[netip.Addr]time.Time{}, proven: map[proof]struct{}{}}
}

// guesser is the address that counts: a caller with IPv6 has a whole /64.
func guesser(from netip.Addr) netip.Addr {
	if !from.Is6() || from.Is4In6() {
		return from.Unmap()
	}
	whole, _ := from.WithZone("").Prefix(64) // cannot fail for 64 bits of 128
	return whole.Addr()
}

// mayTry says whether a token from an address is read, and whether it is proven
// from there: that is nearly every one, and asks for no more.
func (g *guesses) mayTry(from netip.Addr, d access.Digest, now time.Time) (may, proven bool) {
	from = guesser(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, proven := g.proven[proof{from, d}]; proven {
		return true, true
	}
	full, known := g.full[from]
	if !known && len(g.full) >= guessersMax {
		full = g.others
	}
	return full.Sub(now) <= (guessBurst-1)*guessEvery, false
}

// wrong notes that a wrong token came from an address.
func (g *guesses) wrong(from netip.Addr, now time.Time) {
	from = guesser(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	full, known := g.full[from]
	if !known && len(g.full) >= guessersMax && now.Sub(g.swept) >= guessEvery {
		g.swept = now
		for a, t := range g.full {
			if !t.After(now) {
				delete(g.full, a)
			}
		}
	}
	if !known && len(g.full) >= guessersMax {
		g.others = later(g.others, now).Add(guessEvery)
		return
	}
	g.full[from] = later(full, now).Add(guessEvery)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// right notes that a right token came from an address.
func (g *guesses) right(from netip.Addr, d access.Digest) {
	p := proof{guesser(from), d}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.proven) >= provenMax {
		for other := range g.proven { // any one
			delete(g.proven, other)
			break
		}
	}
	g.proven[p] = struct{}{}
}
