package access

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Set holds the tokens that are valid at the same time. It never changes.
type Set struct {
	tokens map[Digest]*Token
	// Unread describes the entries of the token file that were left out because another
	// release wrote them.
	Unread []string
}

// NewSet returns a set of the tokens. Tokens may share a name, so that a successor can be
// handed out before its predecessor expires. They must then have the same role. An error
// names two tokens that contradict each other.
func NewSet(tokens ...Token) (*Set, error) {
	s := &Set{tokens: make(map[Digest]*Token, len(tokens))}
	roles := map[string]Role{}
	for i := range tokens {
		t := tokens[i]
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("token %q: %w", t.Name, err)
		}
		if other, taken := s.tokens[t.Digest]; taken {
			return nil, fmt.Errorf("tokens %q and %q are the same: each entry needs a token of its own", other.Name, t.Name)
		}
		if role, taken := roles[t.Name]; taken && role != t.Role {
			return nil, fmt.Errorf("name %q has the roles %s and %s: a name has one role", t.Name, role, t.Role)
		}
		s.tokens[t.Digest], roles[t.Name] = &t, t.Role
	}
	return s, nil
}

// Find returns the token with a digest, even an expired one. The caller must not change
// it. Every lookup takes one map access. Its duration may reveal something about a
// digest, but nothing about the token.
func (s *Set) Find(d Digest) (t *Token, found bool) {
	t, found = s.tokens[d]
	return t, found
}

// Has reports whether a token, valid or expired, has the role.
func (s *Set) Has(r Role) bool {
	for _, t := range s.tokens {
		if t.Role == r {
			return true
		}
	}
	return false
}

// HasValid reports whether a token has the role at the moment now.
func (s *Set) HasValid(r Role, now time.Time) bool {
	for _, t := range s.tokens {
		if t.Role == r && !t.Expired(now) {
			return true
		}
	}
	return false
}

// NextEnd returns the first time after now at which a name loses its last valid token,
// zero if there is none. A token does not count if another token of its name is valid for
// longer.
func (s *Set) NextEnd(now time.Time) (end time.Time) {
	ends := map[string]time.Time{}
	for _, t := range s.tokens {
		last, known := ends[t.Name]
		switch {
		case t.Until.IsZero(), known && last.IsZero():
			ends[t.Name] = time.Time{}
		case t.Until.After(last):
			ends[t.Name] = t.Until
		}
	}
	for _, last := range ends {
		if last.After(now) && (end.IsZero() || last.Before(end)) {
			end = last
		}
	}
	return end
}

// Keeper holds the current set.
type Keeper struct {
	set   atomic.Pointer[Set]
	draws atomic.Bool
}

// NewKeeper returns a keeper of the set.
func NewKeeper(s *Set) *Keeper {
	k := &Keeper{}
	k.Replace(s)
	return k
}

// Set returns the current set.
func (k *Keeper) Set() *Set { return k.set.Load() }

// Closed reports whether draws need a token. They need one as soon as any set has had a
// token of role draw.
func (k *Keeper) Closed() bool { return k.draws.Load() }

// Replace makes s the current set, starting with the next request.
func (k *Keeper) Replace(s *Set) {
	k.set.Store(s)
	if s.Has(Draw) {
		k.draws.Store(true)
	}
}
