package proof

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// momentWorld returns a pool with moments before and after its commitment. Draws take
// some of them, and a limit withholds one from a user.
func momentWorld(t *testing.T) *world {
	w := newWorld(t)
	w.prize("silver", 90, "5.00")
	w.prize("gold", 60, "19.90")
	w.prize("none", -1, "0.00")
	w.rules(`{"fallback":"none","win":"1/1000000","limits":[{"of":"prize","prize":"gold","max":1}]}`)
	w.commit(4, 100)
	w.state(draw.StateOpen)
	for i := range 40 {
		if i%4 == 0 {
			w.moment(int64(i+1), "gold")
			w.moment(int64(i+2), "silver")
		}
		w.draw(fmt.Sprintf("d%d", i), fmt.Sprintf("u%d", i%9), 1)
	}
	return w
}

func isOfMoment(l *Line) bool {
	return l.Kind == KindAward && l.Redirect != nil && l.Redirect.Why == draw.WhyMoment
}

// TestVerifiersFoldMoments: both verifiers accept a log with moments. They refuse a log
// in which a due moment is not given, or is given out of order or twice. They also refuse
// one that is given although none was due.
func TestVerifiersFoldMoments(t *testing.T) {
	t.Parallel()
	w := momentWorld(t)
	files := w.publishAll()
	r := verified(t, files, VerifyOptions{})
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	code, last := secondSays(t, files)
	require.Equal(t, 0, code, last)
	for name, edit := range map[string]func(l *Line){
		"not given":    func(l *Line) { l.PrizeID, l.Redirect = "none", nil },
		"another":      func(l *Line) { l.PrizeID = map[string]string{"gold": "silver", "silver": "gold"}[l.PrizeID] },
		"another why":  func(l *Line) { l.Redirect = &draw.Redirect{Why: draw.WhyGuarantee} },
		"another gift": func(l *Line) { l.PrizeID, l.Redirect = "silver", nil },
	} {
		attackMoments(t, w, name, func(all []*Line) bool {
			for i, l := range all {
				if isOfMoment(l) && l.PrizeID == "gold" {
					own := *l
					edit(&own)
					all[i] = &own
					return true
				}
			}
			return false
		})
	}
	attackMoments(t, w, "not due", func(all []*Line) bool {
		for i, l := range all {
			if l.Kind == KindAward && l.Redirect == nil {
				own := *l
				own.PrizeID, own.Redirect = "gold", &draw.Redirect{Why: draw.WhyMoment}
				all[i] = &own
				return true
			}
		}
		return false
	})
	attackMoments(t, w, "twice", func(all []*Line) bool {
		var first *Line
		for i, l := range all {
			switch {
			case l.Item == 0:
			case first == nil:
				first = l
			default:
				own := *l
				own.Item = first.Item
				all[i] = &own
				return true
			}
		}
		return false
	})
	attackMoments(t, w, "stock of an operator", func(all []*Line) bool {
		for i, l := range all {
			if l.Item != 0 {
				own := *l
				own.Item = 0
				all[i] = &own
				return true
			}
		}
		return false
	})
}

// attackMoments edits the log and signs it again. Both verifiers must refuse it for the
// rule of moments, at the same entry.
func attackMoments(t *testing.T, w *world, name string, edit func([]*Line) bool) {
	t.Helper()
	log := edited(t, w.log(), func(all []*Line) []*Line {
		require.True(t, edit(all), name)
		return renumbered(all)
	})
	files := w.files(log, nil)
	r := verified(t, files, VerifyOptions{})
	require.False(t, r.OK, name)
	require.Equal(t, RuleMoment, r.Rule, "%s: %s", name, r.Detail)
	code, last := secondSays(t, files)
	require.Equal(t, 3, code, name)
	require.Contains(t, last, fmt.Sprintf("entry %d: moment: ", r.Entry), name)
}
