package group

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// TestFailingDrawFailsAlone: one draw makes its batch fail or panic. It fails alone, the
// other draws are granted, and no call hangs.
func TestFailingDrawFailsAlone(t *testing.T) {
	for name, spoil := range map[string]func() error{
		"error":          func() error { return errors.New("nobody expected this") },
		"coded error":    func() error { return draw.Errorf(draw.CodeInternal, "the database refused") },
		"panic":          func() error { panic("a defect") },
		"runtime panic":  func() error { var none *urn.Plan; none.Settle(); return nil },
		"nil from panic": func() error { panic(error(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			l, stop := newLedger(poolOf("p", 100)), newDoor()
			l.before = func(p *urn.Plan) error {
				if err := stop.before(p); err != nil {
					return err
				}
				for _, a := range p.Awards {
					if a.DrawID == "bad" {
						return spoil()
					}
				}
				return nil
			}
			b, _ := newTestBatcher(t, l, Limits{})
			answers := map[string]<-chan answer{"first": ask(t.Context(), b, named("first"))}
			receive(t, stop.arrived)
			for _, id := range []string{"a", "bad", "b", "c"} {
				answers[id] = ask(t.Context(), b, named(id))
			}
			waitingOn(t, b, "p", 4)
			close(stop.open)
			for id, from := range answers {
				a := receive(t, from)
				if id == "bad" {
					code(t, draw.CodeInternal, a.err)
				} else {
					require.NoError(t, a.err, id)
					require.Equal(t, id, a.draw.ID)
				}
			}
			require.Equal(t, 4, l.issued("p"))
			_, err := b.Draw(t.Context(), named("later"))
			require.NoError(t, err)
		})
	}
}

// TestBatcherFailsTogether: an error that does not concern one draw is returned to all.
func TestBatcherFailsTogether(t *testing.T) {
	l, stop := newLedger(poolOf("p", 100)), newDoor()
	l.before = func(p *urn.Plan) error {
		if p.Awards[0].DrawID == "first" {
			return stop.before(p)
		}
		return draw.Errorf(draw.CodeStoreUnavailable, "down")
	}
	b, seen := newTestBatcher(t, l, Limits{})
	first := ask(t.Context(), b, named("first"))
	receive(t, stop.arrived)
	x, y := ask(t.Context(), b, named("x")), ask(t.Context(), b, named("y"))
	waitingOn(t, b, "p", 2)
	close(stop.open)
	require.NoError(t, receive(t, first).err)
	code(t, draw.CodeStoreUnavailable, receive(t, x).err)
	code(t, draw.CodeStoreUnavailable, receive(t, y).err)
	drain(t, b)
	require.Equal(t, []int{1, 2}, l.batches)
	require.Equal(t, 2, seen.answered["ledger store-unavailable"])
}

// brokenLate panics after every draw was answered.
type brokenLate struct{ *ledger }

func (l *brokenLate) Issue(ctx context.Context, b *Batch) error {
	if err := l.ledger.Issue(ctx, b); err != nil {
		return err
	}
	panic("a defect")
}

// TestBatcherPanicBehindTheAnswers: after a panic, draws that were already answered are
// not decided again, in particular not those that were refused.
func TestBatcherPanicBehindTheAnswers(t *testing.T) {
	l, stop := newLedger(poolOf("p", 2)), newDoor()
	l.before = stop.before
	b, _ := newTestBatcher(t, &brokenLate{l}, Limits{})
	answers := []<-chan answer{ask(t.Context(), b, named("first"))}
	receive(t, stop.arrived)
	for i, id := range []string{"second", "third", "fourth"} {
		answers = append(answers, ask(t.Context(), b, named(id)))
		waitingOn(t, b, "p", i+1)
	}
	close(stop.open)
	for i, from := range answers {
		a := receive(t, from)
		if i < 2 {
			require.NoError(t, a.err)
		} else {
			code(t, draw.CodeSoldOut, a.err)
		}
	}
	drain(t, b)
	require.Equal(t, []int{1, 3}, l.batches)
	require.Equal(t, 2, l.issued("p"))
}
