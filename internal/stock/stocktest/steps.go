package stocktest

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// claimedPool creates a pool whose prize "gold" must be claimed. Each of users u1, u2 …
// has one award.
func claimedPool(t *testing.T, s *stock.Store, id, document string, users int) []draw.Award {
	t.Helper()
	gold := draw.Prize{ID: "gold", Name: "Gold", Value: decimal.New(100, 0), Stocked: int64(users)}
	_, err := s.CreatePool(t.Context(), draw.Pool{ID: id, Name: id, Prizes: []draw.Prize{gold}}, "test")
	require.NoError(t, err)
	r, err := rules.Parse([]byte(document))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), id, r, nil, "test")
	require.NoError(t, err)
	awards := make([]draw.Award, users)
	for i := range awards {
		name := fmt.Sprintf("d%d", i+1)
		drawNow(t, s, draw.Request{PoolID: id, UserID: fmt.Sprintf("u%d", i+1), DrawID: name, Named: true, Count: 1})
		d, err := s.Draw(t.Context(), id, name)
		require.NoError(t, err)
		awards[i] = d.Awards[0]
	}
	return awards
}

func drawNow(t *testing.T, s *stock.Store, r draw.Request) {
	t.Helper()
	_, err := drawAs(t, s, urn.NewUrn(r.PoolID), stock.TxOptions{}, r)
	require.NoError(t, err)
}

func wantStep(award int64, what draw.StepKind) draw.WantedStep {
	w := draw.WantedStep{Award: award, What: what}
	if what == draw.StepVoided {
		w.Reason = "test"
	}
	return w
}

func cleanAudit(t *testing.T, s *stock.Store, id string) {
	t.Helper()
	a, err := s.Audit(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, a.Violations)
}

// testSteps: an award is claimed, fulfilled, corrected, reopened and voided. A repeated
// call gets the same step, and no step creates a version.
func testSteps(t *testing.T, s *stock.Store) {
	awards := claimedPool(t, s, "p", `{"claims":{"within":"1h"}}`, 2)
	before, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), "p", "d1", "u2", 0, "test")
	require.Equal(t, draw.CodeDrawNotFound, draw.CodeOf(err))
	_, err = s.Claim(t.Context(), "p", "d1", "u1", 2, "test")
	require.Equal(t, draw.CodeAwardNotFound, draw.CodeOf(err))
	for i, ordinal := range []int{0, 1} {
		claimed, err := s.Claim(t.Context(), "p", "d1", "u1", ordinal, "test")
		require.NoError(t, err)
		require.Equal(t, i > 0, claimed.Replayed)
		found, err := s.DrawWithCodes(t.Context(), "p", "d1")
		require.NoError(t, err)
		claimed.Replayed = found.Replayed
		require.Equal(t, found, claimed)
	}
	version := awards[0].Version
	fulfil := wantStep(version, draw.StepFulfilled)
	fulfil.Reference, fulfil.From = "DHL 1", draw.AwardClaimed
	first, was, err := s.Step(t.Context(), "p", fulfil, "depot")
	require.NoError(t, err)
	require.False(t, was)
	require.Equal(t, int64(2), first.N)
	again, was, err := s.Step(t.Context(), "p", fulfil, "depot")
	require.NoError(t, err)
	require.True(t, was)
	require.Equal(t, first.N, again.N)
	fulfil.Reference = "DHL 2"
	_, _, err = s.Step(t.Context(), "p", fulfil, "depot")
	require.Equal(t, draw.CodeChangedMeanwhile, draw.CodeOf(err))
	fulfil.From = ""
	for _, next := range []draw.WantedStep{fulfil, wantStep(version, draw.StepReopened), wantStep(version, draw.StepVoided)} {
		_, was, err = s.Step(t.Context(), "p", next, "depot")
		require.NoError(t, err)
		require.False(t, was)
	}
	_, _, err = s.Step(t.Context(), "p", wantStep(version, draw.StepClaimed), "depot")
	require.Equal(t, draw.CodeAwardEnded, draw.CodeOf(err))
	_, _, err = s.Step(t.Context(), "p", wantStep(version+1000, draw.StepClaimed), "depot")
	require.Equal(t, draw.CodeAwardNotFound, draw.CodeOf(err))
	void := wantStep(awards[1].Version, draw.StepVoided)
	void.Return = true
	returned, _, err := s.Step(t.Context(), "p", void, "boss")
	require.NoError(t, err)
	require.Equal(t, before.Version+1, returned.Returned)
	l, err := s.Life(t.Context(), "p", version)
	require.NoError(t, err)
	require.Equal(t, draw.AwardVoided, l.State)
	require.Len(t, l.Steps, 5)
	found, _, err := s.FindByState(t.Context(), "p", draw.AwardFilter{State: draw.AwardVoided}, 0, 10)
	require.NoError(t, err)
	require.Len(t, found, 2)
	steps, err := s.StepsAfter(t.Context(), "p", 0, 100)
	require.NoError(t, err)
	for i := range steps {
		require.Equal(t, int64(i)+1, steps[i].N)
	}
	after, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, before.Version+1, after.Version, "only the move makes a version")
	require.Equal(t, int64(1), after.Prizes[0].Remaining())
	cleanAudit(t, s, "p")
}

// testStepsAtOnce: if many steps of one award are requested at once, one sequence is
// written.
func testStepsAtOnce(t *testing.T, s *stock.Store) {
	awards := claimedPool(t, s, "p", `{"claims":{}}`, 3)
	var all sync.WaitGroup
	for _, a := range awards {
		for range 3 {
			for _, what := range []draw.StepKind{draw.StepClaimed, draw.StepFulfilled, draw.StepVoided} {
				all.Go(func() {
					w := wantStep(a.Version, what)
					w.Return = what == draw.StepVoided
					_, _, err := s.Step(t.Context(), "p", w, "test")
					if err != nil && draw.CodeOf(err) != draw.CodeAwardEnded && draw.CodeOf(err) != draw.CodeContended {
						t.Error(err)
					}
				})
			}
		}
	}
	all.Wait()
	cleanAudit(t, s, "p")
}

// testClaimsAtOnce: claims that come at once get the same answers as claims that come one
// by one.
func testClaimsAtOnce(t *testing.T, s *stock.Store) {
	claimedPool(t, s, "p", `{"claims":{}}`, 40)
	type claimed struct {
		replayed bool
		code     draw.Code
	}
	answers := map[string][]claimed{}
	var mu sync.Mutex
	var all sync.WaitGroup
	claim := func(id, user string) {
		all.Go(func() {
			d, err := s.Claim(t.Context(), "p", id, user, 0, "of "+id)
			mu.Lock()
			defer mu.Unlock()
			answers[id+" "+user] = append(answers[id+" "+user], claimed{d.Replayed, draw.CodeOf(err)})
			if err == nil && (d.ID != id || len(d.Lives) != 1 || d.Lives[0].State != draw.AwardClaimed) {
				t.Errorf("%s was answered %+v", id, d)
			}
		})
	}
	for i := 1; i <= 40; i++ {
		id := fmt.Sprint("d", i)
		claim(id, fmt.Sprint("u", i))
		claim(id, "another")
	}
	claim("d1", "u1")
	claim("absent", "u1")
	all.Wait()
	refused := []claimed{{code: draw.CodeDrawNotFound}}
	require.Equal(t, refused, answers["absent u1"])
	require.ElementsMatch(t, []claimed{{}, {replayed: true}}, answers["d1 u1"])
	for i := 1; i <= 40; i++ {
		require.Equal(t, refused, answers[fmt.Sprintf("d%d another", i)])
		if i > 1 {
			require.Equal(t, []claimed{{}}, answers[fmt.Sprintf("d%d u%d", i, i)])
		}
	}
	steps, err := s.StepsAfter(t.Context(), "p", 0, 100)
	require.NoError(t, err)
	require.Len(t, steps, 40)
	for i := range steps {
		require.EqualValues(t, i+1, steps[i].N)
		require.Equal(t, "of "+steps[i].DrawID, steps[i].Actor, "each step has the actor of its claim")
	}
	cleanAudit(t, s, "p")
}

// testStepsExpire: an award that is not claimed in time counts as expired at once for
// every reader. The job ends it once and returns its unit. A longer claim period also
// applies to open awards.
func testStepsExpire(t *testing.T, s *stock.Store) {
	awards := claimedPool(t, s, "p", `{"claims":{"within":"3s"}}`, 3)
	_, err := s.Claim(t.Context(), "p", "d1", "u1", 0, "test")
	require.NoError(t, err)
	time.Sleep(3200 * time.Millisecond)
	_, err = s.Claim(t.Context(), "p", "d2", "u2", 0, "test")
	require.Equal(t, draw.CodeClaimExpired, draw.CodeOf(err))
	longer, err := rules.Parse([]byte(`{"claims":{"within":"1h"}}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "p", longer, nil, "test")
	require.NoError(t, err)
	n, _, err := s.Expire(t.Context(), "p")
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = s.Claim(t.Context(), "p", "d2", "u2", 0, "test")
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "p", nil, nil, "test")
	require.NoError(t, err)
	l, err := s.Life(t.Context(), "p", awards[2].Version)
	require.NoError(t, err)
	require.Equal(t, draw.AwardExpired, l.State)
	require.Equal(t, l.Until, l.Since)
	before := l
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, _, err := s.Expire(t.Context(), "p"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	l, err = s.Life(t.Context(), "p", awards[2].Version)
	require.NoError(t, err)
	require.Len(t, l.Steps, 1)
	require.NotZero(t, l.Steps[0].Returned)
	require.True(t, l.Since.Equal(before.Since), "the job does not change since when it is expired")
	p, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, int64(1), p.Prizes[0].Remaining())
	cleanAudit(t, s, "p")
}

// testStepsEndedKeepDeadline: rules that come after the end of an award do not change the
// deadline that it shows.
func testStepsEndedKeepDeadline(t *testing.T, s *stock.Store) {
	awards := claimedPool(t, s, "p", `{"claims":{"within":"3s"}}`, 2)
	void := wantStep(awards[1].Version, draw.StepVoided)
	_, _, err := s.Step(t.Context(), "p", void, "test")
	require.NoError(t, err)
	time.Sleep(3200 * time.Millisecond)
	n, _, err := s.Expire(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, later := range []string{`{"claims":{"within":"1h"}}`, `{"claims":{}}`} {
		r, err := rules.Parse([]byte(later))
		require.NoError(t, err)
		_, err = s.SetRules(t.Context(), "p", r, nil, "test")
		require.NoError(t, err)
		for i, state := range []draw.AwardState{draw.AwardExpired, draw.AwardVoided} {
			l, err := s.Life(t.Context(), "p", awards[i].Version)
			require.NoError(t, err)
			require.Equal(t, state, l.State)
			require.True(t, l.Until.Equal(awards[i].At.Add(3*time.Second)), "%s under %s: %s", state, later, l.Until)
		}
	}
}

// testStepsReturnCodes: a code that was not shown goes to the next winner of its new
// place. A shown code cannot return, and can be replaced.
func testStepsReturnCodes(t *testing.T, s *stock.Store) {
	UseSealKeys(t, s, "k1")
	CodedPool(t, s, "p")
	ImportCodes(t, s, "p", CodeLines("c", 3))
	r, err := rules.Parse([]byte(`{"claims":{"within":"1h"}}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "p", r, nil, "test")
	require.NoError(t, err)
	draws := map[string]draw.Draw{}
	for _, name := range []string{"d1", "d2"} {
		drawNow(t, s, draw.Request{PoolID: "p", UserID: "u", DrawID: name, Named: true, Count: 1})
		d, err := s.DrawWithCodes(t.Context(), "p", name)
		require.NoError(t, err)
		require.Empty(t, d.Awards[0].Code)
		draws[name] = d
	}
	void := wantStep(draws["d1"].Awards[0].Version, draw.StepVoided)
	void.Return = true
	_, _, err = s.Step(t.Context(), "p", void, "test")
	require.NoError(t, err)
	counts, err := s.CodeCounts(t.Context(), "p", "card")
	require.NoError(t, err)
	require.Equal(t, int64(4), counts.Places)
	require.Equal(t, int64(4), counts.Stocked)
	version := draws["d2"].Awards[0].Version
	_, err = s.ShowCode(t.Context(), "p", version, "test")
	require.Equal(t, draw.CodeCodeNotOpen, draw.CodeOf(err))
	_, err = s.Claim(t.Context(), "p", "d2", "u", 0, "test")
	require.NoError(t, err)
	d, err := s.DrawWithCodes(t.Context(), "p", "d2")
	require.NoError(t, err)
	require.Equal(t, "c-000002", d.Awards[0].Code)
	void.Award = version
	_, _, err = s.Step(t.Context(), "p", void, "test")
	require.Equal(t, draw.CodeCodeShown, draw.CodeOf(err))
	_, _, err = s.Step(t.Context(), "p", wantStep(version, draw.StepReplaced), "test")
	require.Equal(t, draw.CodeCodesMissing, draw.CodeOf(err))
	_, err = TryImportCodes(t, s, draw.CodeImport{PoolID: "p", Reserve: true}, CodeLines("r", 1))
	require.NoError(t, err)
	_, _, err = s.Step(t.Context(), "p", wantStep(version, draw.StepReplaced), "test")
	require.NoError(t, err)
	code, err := s.ShowCode(t.Context(), "p", version, "test")
	require.NoError(t, err)
	require.Equal(t, "r-000001", code)
	cleanAudit(t, s, "p")
}

// testStepsOfFiles: a file with a bad line writes nothing, and a file that is sent a
// second time writes only the missing steps.
func testStepsOfFiles(t *testing.T, s *stock.Store) {
	awards := claimedPool(t, s, "p", `{"claims":{}}`, 3)
	file := func(lines ...string) (draw.SteppedFile, error) {
		text := "AWARD;to;reference;return;reason\n" + strings.Join(lines, "\n") + "\n"
		return s.StepFile(t.Context(), "p", strings.NewReader(text), draw.StepFile{Actor: "depot", MayStep: func(draw.StepKind) error { return nil }})
	}
	line := func(i int, rest string) string { return fmt.Sprintf("%d;%s", awards[i].Version, rest) }
	_, err := file(line(0, "fulfilled;A;;"), line(1, "reopened;;;"))
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
	require.Contains(t, err.Error(), "line 3: ")
	last, err := s.LastStep(t.Context(), "p")
	require.NoError(t, err)
	require.Zero(t, last)
	done, err := file(line(0, "fulfilled;A;;"), line(1, "claimed;;;"))
	require.NoError(t, err)
	require.Equal(t, draw.SteppedFile{Lines: 2, Written: 2, Encoding: draw.EncodingUTF8}, done)
	done, err = file(line(0, "fulfilled;A;;"), line(1, "claimed;;;"), line(2, "voided;;true;lost"))
	require.NoError(t, err)
	require.Equal(t, draw.SteppedFile{Lines: 3, Written: 1, Unchanged: 2, Encoding: draw.EncodingUTF8}, done)
	cleanAudit(t, s, "p")
}

// testStepsAudited: the audit finds each kind of wrong row.
func testStepsAudited(t *testing.T, s *stock.Store) {
	awards := claimedPool(t, s, "p", `{"claims":{"within":"1h"}}`, 2)
	_, err := s.Claim(t.Context(), "p", "d1", "u1", 0, "test")
	require.NoError(t, err)
	void := wantStep(awards[1].Version, draw.StepVoided)
	void.Return = true
	_, _, err = s.Step(t.Context(), "p", void, "test")
	require.NoError(t, err)
	kept := Keep(t, s, "p")
	more := `INSERT INTO steps (pool_id, n, award, seq, what, state, stands, actor, since, at)
		SELECT pool_id, 3, %d, 1, 'claimed', 'claimed', 'claimed', actor, since, at FROM steps WHERE pool_id = 'p' AND n = 1`
	for _, c := range []struct{ rule, statement string }{
		{"step-gap", `UPDATE step_heads SET n = 3 WHERE pool_id = 'p'`},
		{"step-gap", fmt.Sprintf(more, int64(math.MaxInt64))},
		{"step-unlawful", fmt.Sprintf(more, int64(math.MaxInt64))},
		{"step-unlawful", fmt.Sprintf(more, awards[1].Version+1000)},
		{"step-unlawful", fmt.Sprintf(more, int64(math.MinInt64))},
		{"step-unlawful", `UPDATE steps SET what = 'reopened' WHERE pool_id = 'p' AND n = 1`},
		{"expired-early", `UPDATE steps SET what = 'expired', state = 'expired', stands = 'expired' WHERE pool_id = 'p' AND n = 2`},
		{"return-unlawful", `UPDATE steps SET returned = 1 WHERE pool_id = 'p' AND n = 2`},
		{"expired-claimed", fmt.Sprintf(`UPDATE steps SET award = %d, seq = 2, what = 'expired', state = 'expired' WHERE pool_id = 'p' AND n = 2`, awards[0].Version)},
	} {
		ExecAll(t, s, []string{c.statement})
		a, err := s.Audit(t.Context(), "p")
		require.NoError(t, err)
		rulesFound := make([]string, len(a.Violations))
		for i, v := range a.Violations {
			rulesFound[i] = v.Rule
		}
		require.Contains(t, rulesFound, c.rule, c.statement)
		kept.PutBack(t, s)
	}
	cleanAudit(t, s, "p")
}

// testStepsErased: if a user is erased, the texts of the steps of the user's awards are
// removed.
func testStepsErased(t *testing.T, s *stock.Store) {
	awards := claimedPool(t, s, "p", `{"claims":{}}`, 2)
	for _, a := range awards {
		w := wantStep(a.Version, draw.StepFulfilled)
		w.Reference, w.Reason = "to "+a.UserID, "for "+a.UserID
		_, _, err := s.Step(t.Context(), "p", w, "test")
		require.NoError(t, err)
	}
	_, err := s.EraseUser(t.Context(), "p", "u1", "erased-u1", "test")
	require.NoError(t, err)
	steps, err := s.StepsAfter(t.Context(), "p", 0, 10)
	require.NoError(t, err)
	require.Empty(t, steps[0].Reference+steps[0].Reason)
	require.Equal(t, "to u2", steps[1].Reference)
}
