package stocktest

import (
	"maps"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// Run checks a dialect against the contract of the store.
func Run(t *testing.T, dialect string) {
	RunOn(t, func(t *testing.T) *stock.Store { return New(t, dialect) })
}

// RunOn checks the stores that the function empty creates against the contract of the
// store.
func RunOn(t *testing.T, empty func(*testing.T) *stock.Store) { RunShare(t, 0, 1, empty) }

// RunShare checks one of several additional ways to use a database. The whole contract of
// that database is checked elsewhere. way is from 0 to ways-1. By default each way checks
// a share of the contract, and together they check all of it. If [servertest.Every]
// returns true, each way checks all of it.
func RunShare(t *testing.T, way, ways int, empty func(*testing.T) *stock.Store) {
	tests := contract()
	for i, name := range slices.Sorted(maps.Keys(tests)) {
		if !servertest.Every() && i%ways != way {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tests[name](t, empty(t))
		})
	}
}

// part is a part of the contract: its tests by their names.
type part map[string]func(*testing.T, *stock.Store)

// contract returns the promises that a store must keep.
func contract() part {
	all := part{}
	for _, tests := range []part{poolTests(), drawTests(), agendaTests(), committedTests(), codeTests()} {
		maps.Copy(all, tests)
	}
	return all
}

// poolTests returns the tests of pools, their prizes, stock, rules and logs.
func poolTests() part {
	return part{
		"columns":                testColumns,
		"pools":                  testPools,
		"values are exact":       testValues,
		"text is kept":           testText,
		"changes":                testChanges,
		"history":                testHistory,
		"time holds":             testTimeHolds,
		"revisions":              testRevisions,
		"pool life":              testPoolLife,
		"pool search":            testPoolSearch,
		"pool copy":              testCopy,
		"pool copy of run":       testCopyOfRun,
		"pool copy of returns":   testCopyOfReturns,
		"pool copy of failed":    testCopyOfFailed,
		"pool copy of withdrawn": testCopyOfWithdrawn,
		"pool copy zone":         testCopyZone,
		"pauses":                 testPauses,
		"closed is final":        testClosedIsFinal,
		"corrections":            testCorrections,
		"erase":                  testErase,
		"erase and draw":         testEraseWhileDrawing,
		"endless":                testEndless,
		"rules":                  testRules,
		"stock":                  testStock,
		"stock keys":             testStockKeys,
		"stock at once":          testStockAtOnce,
		"logs":                   testLogs,
		"rules unreadable":       testUnreadableRules,
	}
}

// drawTests returns the tests of draws: how they are planned, written and counted.
func drawTests() part {
	return part{
		"turns":               testTurns,
		"turns of absent":     testTurnsOfAbsent,
		"turn is taken":       testTurnTaken,
		"spent":               testSpent,
		"budget passed":       testBudgetPassed,
		"write":               testWrite,
		"write is guarded":    testWriteGuard,
		"write is whole":      testWriteWhole,
		"known keys":          testKnownKeys,
		"keys are exact":      testKeysExact,
		"order of a draw":     testOrder,
		"fence":               testFence,
		"refused or known":    testRefused,
		"urn follows":         testUrnFollows,
		"urn of another time": testUrnAhead,
		"lock waits":          testLockWaits,
		"cached":              testCached,
		"hits":                testHits,
		"another history":     testAnotherHistory,
		"many units":          testManyUnits,
		"shared":              testShared,
		"shared cached":       testSharedCached,
		"shared waits":        testSharedWaits,
	}
}

// agendaTests returns the tests of agendas.
func agendaTests() part {
	return part{
		"agenda":                testAgendaPlan,
		"agenda by part":        testAgendaParts,
		"agenda sums hide":      testAgendaSumsHide,
		"agenda of 0.1.0":       testBlankTexts,
		"agenda once":           testAgendaOnce,
		"agenda runs":           testAgendaRuns,
		"agenda guards":         testAgendaGuards,
		"agenda of many":        testAgendaMany,
		"moments are hidden":    testMomentsHidden,
		"moments are taken":     testMomentsTaken,
		"moments are audited":   testMomentsAudit,
		"agenda is audited":     testAgendaAudit,
		"agenda of committed":   testAgendaCommitted,
		"agenda closes":         testAgendaCommittedCloses,
		"agenda again":          testAgendaCommittedAgain,
		"agenda of a beacon":    testAgendaBeacon,
		"items unreadable":      testUnreadableItems,
		"items of later states": testItemsOfLaterStates,
	}
}

// committedTests returns the tests of committed pools, their openings, receipts and skipped versions.
func committedTests() part {
	return part{
		"erase committed":      testEraseCommitted,
		"erase salts":          testEraseSalts,
		"receipts are proven":  testReceiptsProven,
		"receipts for all":     testReceiptsForAll,
		"checkpoints of each":  testCheckpointsOfEach,
		"checkpoint elsewhere": testCheckpointsHandedOver,
		"publishing":           testPublishing,
		"opening":              testOpening,
		"opening plain":        testOpeningPlain,
		"steering":             testSteering,
		"stock while open":     testStockWhileOpen,
		"beacon numbers":       testBeaconNumbers,
		"long log":             testLongLog,
		"commit behind":        testCommitBehindAgenda,
		"receipts of restored": testReceiptsOfRestored,
		"skip":                 testSkip,
		"skip is refused":      testSkipRefused,
		"skip in parts":        testSkipInParts,
		"skip what was lost":   testSkipWhatWasLost,
		"notes unreadable":     testUnreadableCommitment,
	}
}

// codeTests returns the tests of prizes with codes.
func codeTests() part {
	return part{
		"codes":                testCodes,
		"codes are whole":      testCodesAreWhole,
		"codes are once":       testCodesAreOnce,
		"codes meet":           testCodesMeet,
		"codes are stock":      testCodesAreStock,
		"codes and the agenda": testCodesOfAgenda,
		"codes are resealed":   testCodesResealed,
		"codes of other keys":  testCodesOfOtherKeys,
		"codes are audited":    testCodesAudited,
		"codes are not unique": testCodesWithoutConstraint,
		"codes are published":  testCodesPublished,
		"steps":                testSteps,
		"steps at once":        testStepsAtOnce,
		"claims at once":       testClaimsAtOnce,
		"steps expire":         testStepsExpire,
		"steps end":            testStepsEndedKeepDeadline,
		"steps return codes":   testStepsReturnCodes,
		"steps of files":       testStepsOfFiles,
		"steps are audited":    testStepsAudited,
		"steps are erased":     testStepsErased,
		"claims of a beacon":   testClaimsOfBeacon,
		"voids move stock":     testVoidsMoveStockOnly,
		"hooks":                testHooks,
		"hooks send":           testHooksSend,
		"hooks fork":           testHooksFork,
		"hooks end":            testHooksEnd,
		"hooks steps":          testHooksSteps,
		"hooks steps fork":     testHooksStepsFork,
	}
}

func code(t *testing.T, want draw.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, draw.CodeOf(err), "%v", err)
}

func testPools(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "spring", 1, 0, 3)
	p, err := s.Pool(ctx, "spring")
	require.NoError(t, err)
	require.Equal(t, draw.StateOpen, p.State)
	require.Equal(t, int64(4), p.Version, "a change, and a move with each prize")
	require.Equal(t, int64(1), p.Revision)
	require.Len(t, p.Prizes, 3)
	require.Equal(t, []int64{1, 0, 3}, []int64{p.Prizes[0].Stocked, p.Prizes[1].Stocked, p.Prizes[2].Stocked}, "in the order given")

	_, err = s.CreatePool(ctx, draw.Pool{ID: "spring", Name: "again"}, "test")
	code(t, draw.CodePoolExists, err)
	_, err = s.Pool(ctx, "summer")
	code(t, draw.CodePoolNotFound, err)
	_, err = s.CreatePool(ctx, draw.Pool{ID: "summer", Name: "x", Prizes: []draw.Prize{{ID: "a", Name: "a", Stocked: 1}, {ID: "a", Name: "b"}}}, "test")
	code(t, draw.CodeInvalidRequest, err)
	_, err = s.CreatePool(ctx, draw.Pool{ID: "summer", Name: "x", Prizes: []draw.Prize{{ID: "a", Name: "a", Stocked: -1}}}, "test")
	code(t, draw.CodeInvalidRequest, err)
	all, err := s.Pools(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1, "nothing of the refused pools is left")
	require.Equal(t, p, all[0])

	_, err = s.AddPrize(ctx, "spring", draw.Prize{ID: "late", Name: "Late", Stocked: 7}, "test")
	require.NoError(t, err)
	_, err = s.AddPrize(ctx, "spring", draw.Prize{ID: "late", Name: "Late", Stocked: 7}, "test")
	code(t, draw.CodePrizeExists, err)
	_, err = s.AddPrize(ctx, "summer", draw.Prize{ID: "late", Name: "Late"}, "test")
	code(t, draw.CodePoolNotFound, err)
	p, err = s.Pool(ctx, "spring")
	require.NoError(t, err)
	require.Equal(t, "late", p.Prizes[3].ID)
	require.Equal(t, int64(5), p.Version)
	NoViolations(t, s, "spring")
}

func testValues(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	values := []string{"0", "0.01", "0.10", "19.90", "20", "123456.7", "99999999999.99", "999999999999.99"}
	p := draw.Pool{ID: "money", Name: "Money"}
	for i, v := range values {
		value, err := draw.ParseValue(v)
		require.NoError(t, err)
		p.Prizes = append(p.Prizes, draw.Prize{ID: string(rune('a' + i)), Name: v, Value: value, Stocked: 1})
	}
	_, err := s.CreatePool(ctx, p, "test")
	require.NoError(t, err)
	back, err := s.Pool(ctx, "money")
	require.NoError(t, err)
	for i, v := range values {
		require.True(t, decimal.RequireFromString(v).Equal(back.Prizes[i].Value), "%s came back as %s", v, back.Prizes[i].Value)
	}
	urn := urn.NewUrn("money")
	tx, err := s.Read(ctx, urn, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.Equal(t, int64(len(values)), urn.Remaining())
}

func testText(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	name := `Zürich 東京 🎁 O'Hara "x" \ % _ ; -- end`
	_, err := s.CreatePool(ctx, draw.Pool{ID: "t", Name: name, Prizes: []draw.Prize{{ID: "a", Name: name, Stocked: 5}}}, "test")
	require.NoError(t, err)
	plan := Plan("t", 2, "a", 0, `k'"\ %`)
	plan.Awards[0].UserID = name
	require.NoError(t, Write(t, s, stock.TxOptions{}, plan))
	d, err := s.Draw(ctx, "t", `k'"\ %`)
	require.NoError(t, err)
	require.Equal(t, name, d.UserID)
	require.Equal(t, name, d.Awards[0].PrizeName)
	require.Equal(t, plan.Awards[0].At, d.Awards[0].At, "to the microsecond")
	move, err := s.Stock(ctx, draw.Stocking{PoolID: "t", PrizeID: "a", Delta: 1, Reason: name}, "test")
	require.NoError(t, err)
	moves, err := s.Moves(ctx, "t", 3, 10)
	require.NoError(t, err)
	require.Equal(t, name, moves[0].Reason)
	require.Equal(t, move.Version, moves[0].Version)
}

func testChanges(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 1)
	state, mode, name := draw.StatePaused, "optimistic", "New name"
	p, err := s.ChangePool(ctx, "p", draw.PoolChange{State: &state}, "test")
	require.NoError(t, err)
	require.Equal(t, draw.StatePaused, p.State)
	p, err = s.ChangePool(ctx, "p", draw.PoolChange{Mode: &mode, Name: &name}, "test")
	require.NoError(t, err)
	require.Equal(t, [3]string{"paused", mode, name}, [3]string{string(p.State), p.Mode, p.Name})
	none := ""
	p, err = s.ChangePool(ctx, "p", draw.PoolChange{Mode: &none}, "test")
	require.NoError(t, err)
	require.Empty(t, p.Mode)
	require.Equal(t, int64(6), p.Version, "each member is a change")
	require.Equal(t, int64(6), p.Revision)
	_, err = s.ChangePool(ctx, "q", draw.PoolChange{State: &state}, "test")
	code(t, draw.CodePoolNotFound, err)
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{}, "test")
	code(t, draw.CodeInvalidRequest, err)
	bad := draw.State("shut")
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &bad}, "test")
	code(t, draw.CodeInvalidRequest, err)
}

func testLogs(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 10, 10)
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 3, "a", 0, "d1", "d2", "d3")))
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 6, "b", 0, "d4")))
	awards, err := s.Awards(ctx, "p", 4, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"d2", "d3"}, []string{awards[0].DrawID, awards[1].DrawID})
	require.Equal(t, "Prize a", awards[0].PrizeName)
	awards, err = s.Awards(ctx, "p", 7, 2)
	require.NoError(t, err)
	require.Empty(t, awards)
	_, err = s.Awards(ctx, "q", 0, 2)
	code(t, draw.CodePoolNotFound, err)
	moves, err := s.Moves(ctx, "p", 0, 10)
	require.NoError(t, err)
	require.Len(t, moves, 2)
	_, err = s.Moves(ctx, "q", 0, 2)
	code(t, draw.CodePoolNotFound, err)
	_, err = s.Draw(ctx, "p", "d9")
	code(t, draw.CodeDrawNotFound, err)
	_, err = s.Draw(ctx, "q", "d1")
	code(t, draw.CodePoolNotFound, err)
	_, err = s.Audit(ctx, "q")
	code(t, draw.CodePoolNotFound, err)
}
