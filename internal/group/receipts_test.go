package group

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// receiptJudge signs receipts, and records what is wrong with the calls.
type receiptJudge struct {
	ledger *ledger
	// If hold is set, each signature waits for it; failing makes signatures fail.
	hold    chan struct{}
	failing error

	mu      sync.Mutex
	batches []int
	signed  map[string]bool
	wrong   []string
}

// Sign implements draw.Signer. A receipt is the name of its draw.
func (j *receiptJudge) Sign(draws [][]draw.Award, _ *draw.Rules) ([]draw.Receipt, error) {
	if j.hold != nil {
		<-j.hold
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batches = append(j.batches, len(draws))
	var receipts []draw.Receipt
	before := int64(0)
	for _, awards := range draws {
		name, version := awards[0].DrawID, awards[0].Version
		switch {
		case !j.ledger.holds(awards):
			j.wrong = append(j.wrong, "signed before the commit")
		case version <= before:
			j.wrong = append(j.wrong, "not in order of versions")
		case len(draws) > 1 && j.signed[name]:
			j.wrong = append(j.wrong, "a replay among the leaves")
		}
		before, j.signed[name] = version, true
		receipts = append(receipts, draw.EncodedReceipt(name))
	}
	return receipts, j.failing
}

// holds reports whether the ledger has exactly these awards of a draw.
func (l *ledger) holds(awards []draw.Award) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.EqualFunc(l.draws["p/"+awards[0].DrawID].Awards, awards, func(x, y draw.Award) bool { return x.Version == y.Version && x.Unit == y.Unit })
}

// receipted runs a batcher with two batches. The first has one draw. The second has all
// other draws, among them a known key and a repeated key. between is called between a
// plan and its write. It may sign too early or in another wrong way.
func receipted(t *testing.T, between func(*urn.Plan)) (*receiptJudge, []answer) {
	l, stop := newLedger(poolOf("p", 1000)), newDoor()
	j := &receiptJudge{ledger: l, signed: map[string]bool{}}
	l.secrets = &urn.Secrets{Signer: j, GivesReceipts: true}
	conflicts := 2
	l.before = func(p *urn.Plan) error {
		_ = stop.before(p)
		if between != nil {
			between(p)
		}
		if len(p.Awards) > 1 && conflicts > 0 { // another instance was first, so the batch is planned again
			conflicts--
			l.set("p", func(p *draw.Pool) { p.Version++ })
			return errTooLate
		}
		return nil
	}
	b, _ := newTestBatcher(t, l, Limits{})
	answers := []<-chan answer{ask(t.Context(), b, named("first"))}
	receive(t, stop.arrived)
	for i := range 40 {
		answers = append(answers, ask(t.Context(), b, named(fmt.Sprint("d", i))))
	}
	answers = append(answers, ask(t.Context(), b, named("first")), ask(t.Context(), b, named("d7")))
	waitingOn(t, b, "p", len(answers)-1)
	close(stop.open)
	var got []answer
	for _, from := range answers {
		got = append(got, receive(t, from))
		require.NoError(t, got[len(got)-1].err)
	}
	return j, got
}

// TestReceiptsAreSignedTogether: the new draws of a batch share one signature. It is made
// after the commit, over the draws in order of their versions. A replay, and the only
// draw of a batch, are signed by their requests.
func TestReceiptsAreSignedTogether(t *testing.T) {
	j, got := receipted(t, nil)
	require.Empty(t, j.wrong)
	require.Equal(t, []int{40}, j.batches)
	together := 0
	for i := range got {
		d := &got[i].draw
		require.True(t, d.Receipt)
		if d.Signed == nil {
			continue
		}
		require.Equal(t, d.ID, string(d.Signed.AppendTo(nil)))
		require.False(t, d.Replayed)
		together++
	}
	require.Equal(t, 40, together)
	require.Nil(t, got[0].draw.Signed, "it was the only one")
	require.Nil(t, got[41].draw.Signer, "the log is asked for a replay")
}

// TestReceiptsAreSignedTogetherCatches: the test fails for signers that sign a plan
// before its commit, that use another order, or that sign replays.
func TestReceiptsAreSignedTogetherCatches(t *testing.T) {
	of := func(p *urn.Plan) (draws []*draw.Draw) {
		for i := range min(3, len(p.Awards)) {
			if made, err := p.Answer(i); err == nil && made.Signer != nil {
				draws = append(draws, &made)
			}
		}
		return draws
	}
	var former []*draw.Draw
	for wrong, between := range map[string]func(*urn.Plan){
		"signed before the commit": func(p *urn.Plan) {
			if len(p.Awards) > 1 {
				_ = draw.SignReceipts(of(p))
			}
		},
		"not in order of versions": func(p *urn.Plan) {
			if len(p.Awards) == 1 {
				former = of(p)
			} else {
				_ = draw.SignReceipts([]*draw.Draw{former[0], former[0]})
			}
		},
		"a replay among the leaves": func(p *urn.Plan) {
			if len(p.Awards) == 1 {
				former = of(p)
				return
			}
			_, _ = former[0].SignReceipt()
			_ = draw.SignReceipts([]*draw.Draw{former[0], former[0]})
		},
	} {
		j, _ := receipted(t, between)
		require.Contains(t, j.wrong, wrong)
	}
}

// TestSignaturesHoldNoBatchUp: while the receipts of a batch are signed, the next batches
// are decided. A drain waits for the signature. If signing fails, each draw is answered
// without the signature.
func TestSignaturesHoldNoBatchUp(t *testing.T) {
	l, stop := newLedger(poolOf("p", 1000)), newDoor()
	j := &receiptJudge{ledger: l, signed: map[string]bool{}, hold: make(chan struct{}), failing: draw.Errorf(draw.CodeInternal, "no key")}
	l.secrets = &urn.Secrets{Signer: j, GivesReceipts: true}
	l.before = stop.before
	b, _ := newTestBatcher(t, l, Limits{})
	first := ask(t.Context(), b, named("first"))
	receive(t, stop.arrived)
	var together []<-chan answer
	for i := range 5 {
		together = append(together, ask(t.Context(), b, named(fmt.Sprint("d", i))))
	}
	waitingOn(t, b, "p", len(together))
	close(stop.open)
	require.NoError(t, receive(t, first).err)
	require.Eventually(t, func() bool { return l.issued("p") == 6 }, patience, time.Millisecond)
	later := receive(t, ask(t.Context(), b, named("later")))
	require.NoError(t, later.err, "it does not wait for the signature")
	for _, from := range together {
		require.Empty(t, from)
	}
	close(j.hold)
	for _, from := range together {
		got := receive(t, from)
		require.NoError(t, got.err)
		require.True(t, got.draw.Receipt)
		require.Nil(t, got.draw.Signed)
		require.NotNil(t, got.draw.Signer, "its request tries again, and says why it cannot")
	}
}
