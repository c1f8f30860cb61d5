package urn_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// FuzzUrn reads the input as puts, takes and returns: the urn must always have the sum
// of its prizes, and never give a unit that does not exist.
func FuzzUrn(f *testing.F) {
	f.Add([]byte{0x00, 5, 3, 0x40, 0x41, 0x80, 0x40})
	f.Add([]byte{0x00, 1, 0, 0x01, 0, 0, 0x02, 255, 255, 0x40, 0x40, 0x40})
	f.Add([]byte{0x3f, 200, 10, 0x3f, 10, 10, 0x7f, 0xbf, 0xff})
	f.Fuzz(func(t *testing.T, ops []byte) {
		u, model := urn.NewUrn("p"), &stockMap{prizes: map[string]draw.Prize{}}
		var out []*urn.Plan
		for len(ops) >= 3 {
			op := ops[0]
			ops = ops[1:]
			switch op >> 6 {
			case 0: // put: id, stocked, issued
				stocked := int64(ops[0])
				p := draw.Prize{ID: fmt.Sprint(op & 0x3f), Stocked: stocked, Issued: min(stocked, int64(ops[1]))}
				restocked(u, p)
				model.put(p)
				ops, out = ops[2:], nil
			case 1:
				if u.Remaining() > 0 {
					out = append(out, takenOf(t, u, model))
				}
			case 2:
				if n := len(out); n > 0 {
					model.issue(out[n-1].Awards[0].PrizeID, -1)
					out[n-1].Undo()
					out = out[:n-1]
				}
			default:
				u.Invalidate()
				model, out = &stockMap{prizes: map[string]draw.Prize{}}, nil
			}
			checkUrn(t, u, model)
		}
		for u.Remaining() > 0 {
			takenOf(t, u, model)
		}
		checkUrn(t, u, model)
	})
}

// takenOf takes a unit from an urn; the model must have it.
func takenOf(t *testing.T, u *urn.Urn, model *stockMap) *urn.Plan {
	p := taken(u, int64(u.Prizes()))
	if p.Err(0) != nil {
		t.Fatalf("of %d units none is given: %v", u.Remaining(), p.Err(0))
	}
	a := p.Awards[0]
	if before := model.prizes[a.PrizeID]; before.Remaining() < 1 || a.Unit != before.Issued+1 {
		t.Fatalf("unit %d of %+v", a.Unit, before)
	}
	model.issue(a.PrizeID, 1)
	return p
}

func checkUrn(t *testing.T, u *urn.Urn, model *stockMap) {
	var sum int64
	for _, p := range model.prizes {
		if p.Issued < 0 || p.Issued > p.Stocked {
			t.Fatalf("prize %q has issued %d of %d", p.ID, p.Issued, p.Stocked)
		}
		sum += p.Remaining()
	}
	one := u.Plan([]*urn.Ask{asking("one", 1)}, noon())
	defer one.Undo()
	if left := u.Remaining() + int64(len(one.Awards)); sum != left || (one.Err(0) == nil) != (sum > 0) {
		t.Fatalf("the urn says %d, its prizes %d, a draw %v", left, sum, one.Err(0))
	}
}

// agreed fails if a check differs from a simple implementation of its contract.
func agreed(t *testing.T, s string, err error, want bool) {
	t.Helper()
	if (err == nil) != want {
		t.Fatalf("%q: %v, but it should be %t", s, err, want)
	}
	if err != nil && draw.CodeOf(err) != draw.CodeInvalidRequest {
		t.Fatalf("%q: code %s", s, draw.CodeOf(err))
	}
}

// hostile adds inputs that have broken other programs.
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
	f.Fuzz(func(t *testing.T, s string) { agreed(t, s, draw.CheckID("pool id", s), pattern.MatchString(s)) })
}

func FuzzCheckKey(f *testing.F) {
	hostile(f)
	pattern := regexp.MustCompile(`^[ -~]{1,128}\z`)
	f.Fuzz(func(t *testing.T, s string) { agreed(t, s, draw.CheckKey(s), pattern.MatchString(s)) })
}

func FuzzCheckUser(f *testing.F) {
	hostile(f)
	f.Fuzz(func(t *testing.T, s string) {
		want, n := utf8.ValidString(s), 0
		for _, r := range s {
			want = want && unicode.IsPrint(r)
			n++
		}
		agreed(t, s, draw.CheckUser(s), want && n >= 1 && n <= 128 && strings.Trim(s, " ") == s)
	})
}

func FuzzParseValue(f *testing.F) {
	hostile(f)
	pattern := regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,2})?\z`)
	f.Fuzz(func(t *testing.T, s string) {
		value, err := draw.ParseValue(s)
		agreed(t, s, err, s == "" || pattern.MatchString(s))
		if err != nil {
			return
		}
		p := draw.Prize{ID: "a", Name: "a", Value: value}
		if err := p.Check(); err != nil {
			t.Fatalf("%q was read, but not taken: %v", s, err)
		}
		if back, err := draw.ParseValue(value.StringFixed(2)); s != "" && (err != nil || !back.Equal(value) || !back.Equal(decimal.RequireFromString(s))) {
			t.Fatalf("%q became %s and came back as %s, %v", s, value, back, err)
		}
	})
}
