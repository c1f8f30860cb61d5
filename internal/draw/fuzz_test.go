package draw

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// FuzzUrn reads the input as puts, takes and returns: the urn must hold the
// sum of its prizes throughout, and never give a unit that is not there.
func FuzzUrn(f *testing.F) {
	f.Add([]byte{0x00, 5, 3, 0x40, 0x41, 0x80, 0x40})
	f.Add([]byte{0x00, 1, 0, 0x01, 0, 0, 0x02, 255, 255, 0x40, 0x40, 0x40})
	f.Add([]byte{0x3f, 200, 10, 0x3f, 10, 10, 0x7f, 0xbf, 0xff})
	f.Fuzz(func(t *testing.T, ops []byte) {
		u, taken := NewUrn("p"), []int{}
		for len(ops) >= 3 {
			op := ops[0]
			ops = ops[1:]
			switch op >> 6 {
			case 0: // put: id, stocked, issued
				stocked := int64(ops[0])
				u.put(Prize{ID: fmt.Sprint(op & 0x3f), Stocked: stocked, Issued: min(stocked, int64(ops[1]))})
				ops, taken = ops[2:], nil
			case 1:
				if u.covers(1) {
					taken = append(taken, takeChecked(t, u))
				}
			case 2:
				if n := len(taken); n > 0 {
					u.putBack(taken[n-1])
					taken = taken[:n-1]
				}
			default:
				u.Invalidate()
				taken = nil
			}
			checkUrn(t, u)
		}
		for u.covers(1) {
			takeChecked(t, u)
		}
		checkUrn(t, u)
	})
}

func takeChecked(t *testing.T, u *Urn) int {
	left := make([]int64, len(u.prizes))
	for i, p := range u.prizes {
		left[i] = p.stocked - p.issued
	}
	place := u.take(int64(len(left)))
	if left[place] < 1 {
		t.Fatalf("a unit of prize %d, of %v", place, left)
	}
	return place
}

func checkUrn(t *testing.T, u *Urn) {
	var sum int64
	for _, p := range u.prizes {
		if p.issued < 0 || p.issued > p.stocked {
			t.Fatalf("prize %q has issued %d of %d", p.id, p.issued, p.stocked)
		}
		sum += p.stocked - p.issued
	}
	if sum != u.Remaining() || u.covers(1) != (sum > 0) {
		t.Fatalf("the urn says %d, its prizes %d", u.Remaining(), sum)
	}
}

// agreed fails when a check and the plain reading of the contract differ.
func agreed(t *testing.T, s string, err error, want bool) {
	t.Helper()
	if (err == nil) != want {
		t.Fatalf("%q: %v, but it should be %t", s, err, want)
	}
	if err != nil && CodeOf(err) != CodeInvalidRequest {
		t.Fatalf("%q: code %s", s, CodeOf(err))
	}
}

// hostile are inputs that others have tripped over.
func hostile(f *testing.F) {
	for _, s := range []string{
		"", "a", "0", "spring-2026.a_b", "Spring", "-a", ".a", "a b", "ä", "a\x00", "\xff", "é", "e\u0301", "\u200b", "\u202e",
		"\ufeff", "\u2028", "日本", "🎁", "a\n", "\t", "~", "\x7f", " ", "\u00a0", "19.90", "1.999", "-1", "+1", "1e9", ".5", "5.",
		"999999999999.99", "1000000000000", "0000000000001", "１", "0x10", "NaN", "1_000", strings.Repeat("a", 64), strings.Repeat("a", 65),
		strings.Repeat("k", 128), strings.Repeat("k", 129), strings.Repeat("é", 128), strings.Repeat("é", 129), strings.Repeat("9", 40),
	} {
		f.Add(s)
	}
}

func FuzzCheckID(f *testing.F) {
	hostile(f)
	pattern := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}\z`)
	f.Fuzz(func(t *testing.T, s string) { agreed(t, s, CheckID("pool id", s), pattern.MatchString(s)) })
}

func FuzzCheckKey(f *testing.F) {
	hostile(f)
	pattern := regexp.MustCompile(`^[ -~]{1,128}\z`)
	f.Fuzz(func(t *testing.T, s string) { agreed(t, s, CheckKey(s), pattern.MatchString(s)) })
}

func FuzzCheckUser(f *testing.F) {
	hostile(f)
	f.Fuzz(func(t *testing.T, s string) {
		want, n := utf8.ValidString(s), 0
		for _, r := range s {
			want = want && unicode.IsPrint(r)
			n++
		}
		agreed(t, s, CheckUser(s), want && n >= 1 && n <= 128 && strings.Trim(s, " ") == s)
	})
}

func FuzzParseValue(f *testing.F) {
	hostile(f)
	pattern := regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,2})?\z`)
	f.Fuzz(func(t *testing.T, s string) {
		value, err := ParseValue(s)
		agreed(t, s, err, s == "" || pattern.MatchString(s))
		if err != nil {
			return
		}
		p := Prize{ID: "a", Name: "a", Value: value}
		if err := p.Check(); err != nil {
			t.Fatalf("%q was read, but not taken: %v", s, err)
		}
		if back, err := ParseValue(value.StringFixed(2)); s != "" && (err != nil || !back.Equal(value) || !back.Equal(decimal.RequireFromString(s))) {
			t.Fatalf("%q became %s and came back as %s, %v", s, value, back, err)
		}
	})
}
