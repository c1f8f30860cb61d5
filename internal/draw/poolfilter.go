package draw

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Values of PoolFilter.Archived.
const (
	// ArchivedNot, the zero value, selects pools that are not archived.
	ArchivedNot Archived = iota
	// ArchivedToo selects all pools.
	ArchivedToo
	// ArchivedOnly selects archived pools.
	ArchivedOnly
)

// Archived selects pools by whether they are archived.
type Archived int

// PoolFilter selects the pools of a list.
type PoolFilter struct {
	// Words are separated by blanks: a pool's name or id contains each of them, whatever
	// their case and accents. "" selects every name.
	Words string
	// State is the pool's state, "" for any.
	State    State
	Archived Archived
}

// Check returns CodeInvalidRequest if the words are longer than NameMax or not
// printable, or the state is unknown.
func (f *PoolFilter) Check() error {
	if f.Words != "" {
		if err := checkJoined("q", f.Words, NameMax); err != nil {
			return err
		}
	}
	if f.State == "" {
		return nil
	}
	return CheckState(f.State)
}

// Matcher returns a function that reports whether the filter selects a pool.
func (f *PoolFilter) Matcher() func(*Pool) bool {
	words := strings.Fields(plain(f.Words))
	return func(p *Pool) bool {
		isShown := f.Archived == ArchivedToo || p.Archived == (f.Archived == ArchivedOnly)
		if !isShown || f.State != "" && p.State != f.State {
			return false
		}
		if len(words) == 0 {
			return true
		}
		text := p.ID + " " + plain(p.Name)
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}
}

// plain returns a text in small letters without accents, so that e finds é, and é finds
// e.
func plain(text string) string {
	decomposed := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return strings.ReplaceAll(decomposed, "ß", "ss")
}
