package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/stock/stocktest"
)

// rfc formats a time as callers write it.
func rfc(at time.Time) string { return at.UTC().Format(draw.TimeFormat) }

// planSoon plans something that comes due soon. If planning took so long that the time
// has passed, it plans again, for a later time.
func planSoon(tb testing.TB, plan func(at time.Time) outcome) time.Time {
	tb.Helper()
	for ahead := 2 * time.Second; ahead < commandMax; ahead *= 2 {
		at := time.Now().Add(ahead)
		o := plan(at)
		if o.code == exitOK {
			return at
		}
		require.Contains(tb, o.message, "at has passed")
	}
	tb.Fatal("nothing can be planned in time")
	return time.Time{}
}

// TestAgendaCommands runs all agenda commands on each database, including arguments
// that they refuse.
func TestAgendaCommands(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", "id=gold,value=5,stock=9")
		noon := time.Now().Add(time.Hour).Truncate(time.Second)
		require.Contains(t, p.ok("agenda", "add", "--pool", "spring", "--at", rfc(noon), "--state", "paused"), "item 1 is planned for "+rfc(noon)+": state paused")
		p.ok("agenda", "add", "--pool", "spring", "--at", rfc(noon), "--prize", "gold", "--delta", "5", "--reason", "eve")
		rules := p.written("rules.json", `{"limits":[{"of":"draws","max":1}]}`)
		added := p.ok("agenda", "add", "--pool", "spring", "--at", rfc(noon), "--rules", rules, "--output", "json")
		require.Equal(t, float64(3), members(t, added)["item"])
		require.Equal(t, false, members(t, added)["replayed"])

		var sealed struct {
			Item, Count, Version int64
			SHA256, Salt         string
		}
		spread := p.ok("agenda", "spread", "--pool", "spring", "--prize", "gold", "--units", "5",
			"--from", rfc(noon), "--to", rfc(noon.Add(3*time.Hour)), "--every", "1h", "--output", "json")
		require.NoError(t, json.Unmarshal([]byte(spread), &sealed))
		require.Equal(t, [2]int64{4, 3}, [2]int64{sealed.Item, sealed.Count})
		var items []draw.Item
		for i, units := range []int64{1, 2, 2} {
			items = append(items, stocktest.StockAt(noon.Add(time.Duration(i)*time.Hour), "gold", units))
			items[i].Stock.Reason = "agenda"
		}
		require.Equal(t, draw.NewSeal(sealed.Salt, items).SHA256, sealed.SHA256, "whoever knows the schedule and the salt can check it")
		require.Contains(t, p.ok("log", "--pool", "spring"), sealed.SHA256)
		p.ok("agenda", "spread", "--pool", "spring", "--prize", "gold", "--units", "20",
			"--from", rfc(noon), "--to", rfc(noon.Add(3*time.Hour)), "--random")

		file := p.written("moments.csv", "at,prize,delta,reason\n"+rfc(noon)+",gold,1,\"a, b\"\n"+rfc(noon)+",gold,-1,back\n")
		require.Contains(t, p.ok("agenda", "import", "--pool", "spring", file), "2 items planned")
		bad := p.written("bad.csv", "at,prize,delta,reason\n"+rfc(noon)+",gold,1,r\n"+rfc(noon)+",tin,1,r\n"+rfc(noon.Add(-2*time.Hour))+",gold,1,r\n")
		before := p.ok("agenda", "list", "--pool", "spring")
		p.refused(exitFailure, `line 3: the pool has no prize "tin"; line 4: at has passed`, "agenda", "import", "--pool", "spring", bad)
		require.Contains(t, p.ok("agenda", "remove", "--pool", "spring", "2"), "item 2 is removed")
		require.Equal(t, exitFailure, p.run("agenda", "remove", "--pool", "spring", "2").code)
		after := p.ok("agenda", "list", "--pool", "spring", "--open")
		require.Contains(t, after, "hidden: +20 units of gold")
		require.Equal(t, strings.Count(before, "\n")-1, strings.Count(after, "\n"), "all or nothing, and one is removed")
		var listed struct{ Items []json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(p.ok("agenda", "list", "--pool", "spring", "--output", "json")), &listed))
		require.Len(t, listed.Items, strings.Count(after, "\n")-1)
		planned := members(t, added)
		delete(planned, "replayed") // a member of the answer, not of the item
		require.Equal(t, planned, members(t, string(listed.Items[1])))
		p.ok("audit", "--deep")
		simulated := p.ok("simulate", "--pool", "spring", "--draws", "20", "--rate", "1/m", "--from", rfc(noon.Add(-10*time.Minute)), "--output", "json")
		require.Equal(t, float64(9), members(t, simulated)["draws"], "by its clock the pool is paused before the stock comes")
		require.Equal(t, map[string]any{"pool-not-open": 10.0, "sold-out": 1.0}, members(t, simulated)["refusals"])
		moment := members(t, p.ok("agenda", "add", "--pool", "spring", "--at", rfc(noon), "--moment", "gold", "--output", "json"))
		require.Equal(t, moment["item"], members(t, p.ok("agenda", "list", "--pool", "spring", "--output", "json"))["cursor"], "it is after the hidden items too")
		for args, says := range map[string]string{
			"agenda":                   "a subcommand is missing",
			"agenda add --pool spring": "--at must be a time",
			"agenda add --pool spring --at " + rfc(noon):                                  "give one of --state, --rules, --moment, or --prize",
			"agenda add --pool spring --state open --prize gold --at " + rfc(noon):        "give one of",
			"agenda spread --pool spring --units 1 --from " + rfc(noon) + " --to x":       "give one of --every and --random",
			"agenda remove --pool spring x":                                               "whole number",
			"agenda spread --pool spring --prize gold --random --units 1 --from y --to x": "--from must be a time",
		} {
			p.refused(exitUsage, says, strings.Fields(args)...)
		}
	})
}

// TestAgendaOfService: a pool follows its agenda without draws, due items affect a draw
// at once, and the next service carries out, in order, the items that became due while
// no service ran.
func TestAgendaOfService(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", "id=gold,value=5,stock=2", "--state", "paused")
		s := p.serve()
		plan := func(at time.Time, what string) {
			t.Helper()
			s.admin(201, "POST", "/admin/pools/spring/agenda", fmt.Sprintf(`{"at":%q,%s}`, rfc(at), what))
		}
		s.admin(400, "POST", "/admin/pools/spring/agenda", fmt.Sprintf(`{"at":%q,"state":"open"}`, rfc(time.Now().Add(-time.Minute))))
		far := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": s.url, "DRAWSVC_TOKEN": s.token}}
		planSoon(t, func(at time.Time) outcome {
			return far.run("agenda", "add", "--pool", "spring", "--at", rfc(at), "--state", "open")
		})
		shuts := time.Now().Add(time.Hour)
		plan(shuts, `"state":"closed"`)
		require.Eventually(t, func() bool {
			shown := members(t, s.admin(200, "GET", "/pools/spring", ""))
			return shown["opens_at"] == nil && shown["closes_at"] == rfc(shuts.Truncate(time.Microsecond)) && shown["state"] == "open"
		}, commandMax, 100*time.Millisecond, "opened, though nobody draws")
		require.Eventually(t, func() bool { // it is counted after the commit
			return strings.Contains(s.admin(200, "GET", "/metrics", ""), `drawsvc_due_total{what="state"} 1`)
		}, commandMax, 10*time.Millisecond)
		s.admin(409, "DELETE", "/admin/pools/spring/agenda/1", "")
		s.admin(204, "DELETE", "/admin/pools/spring/agenda/2", "")

		away := planSoon(t, func(at time.Time) outcome {
			moments := "at,prize,delta,reason\n"
			for i, delta := range []int{5, -7, 1} {
				moments += fmt.Sprintf("%s,gold,%d,r\n", rfc(at.Add(time.Duration(i)*time.Millisecond)), delta)
			}
			return far.run("agenda", "import", "--pool", "spring", p.written("moments.csv", moments))
		})
		s.end()
		time.Sleep(time.Until(away.Add(time.Second)))
		s = p.serve()
		status, body, err := s.draw("spring", "u1", "")
		require.NoError(t, err)
		require.Equal(t, 200, status, body)
		var deltas []any
		for _, m := range members(t, s.admin(200, "GET", "/admin/pools/spring/moves", ""))["moves"].([]any)[1:] {
			deltas = append(deltas, m.(map[string]any)["delta"])
		}
		require.Equal(t, []any{5.0, -7.0, 1.0}, deltas, "in order, before the draw")
		plan(time.Now().Add(time.Hour), `"state":"open"`)
		s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
		require.Eventually(t, func() bool {
			return members(t, s.admin(200, "GET", "/pools/spring", ""))["state"] == "closed"
		}, commandMax, 100*time.Millisecond)
		require.Nil(t, members(t, s.admin(200, "GET", "/pools/spring", ""))["opens_at"], "closed is final")
		require.True(t, members(t, s.admin(200, "GET", "/admin/pools/spring/audit", ""))["ok"].(bool))
	})
}

// TestItemsOfAClosedPoolLapse: items of a pool that was closed before them do not count
// as failed.
func TestItemsOfAClosedPoolLapse(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve()
	far := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": s.url, "DRAWSVC_TOKEN": s.token}}
	planSoon(t, func(at time.Time) outcome {
		return far.run("agenda", "import", "--pool", "spring", p.written("items.csv", "at,prize,delta,reason\n"+rfc(at.Add(10*time.Second))+",gold,1,r\n"))
	})
	s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
	require.Eventually(t, func() bool {
		return strings.Contains(s.admin(200, "GET", "/metrics", ""), `drawsvc_due_total{what="lapsed"} 1`)
	}, commandMax, 100*time.Millisecond)
	require.Contains(t, s.admin(200, "GET", "/metrics", ""), `drawsvc_due_total{what="failed"} 0`)
}

// TestAgendaListNamesFailures: a done item that failed differs from one that was carried
// out.
func TestAgendaListNamesFailures(t *testing.T) {
	t.Parallel()
	require.Equal(t, "-", doneOf(&api.Item{}))
	require.Equal(t, "version 7", doneOf(&api.Item{Done: new(int64(7))}))
	require.Equal(t, "failed: pool-closed, version 7", doneOf(&api.Item{Done: new(int64(7)), Failed: draw.CodePoolClosed}))
}
