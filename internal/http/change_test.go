package http

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestRevisionIsTheTag: answers that show a pool have its revision as their tag, and
// If-Match states at which revisions a change may be made.
func TestRevisionIsTheTag(t *testing.T) {
	s := newServer(t, &fake{})
	for _, r := range [][3]string{
		{"GET", "/admin/pools/spring", ""}, {"HEAD", "/admin/pools/spring", ""}, {"PATCH", "/admin/pools/spring", `{"state":"open"}`},
	} {
		require.Equal(t, `"5"`, do(s, asAdmin(r[0], r[1], r[2])).Header().Get("ETag"), r[0])
	}
	for header, want := range map[string][]int64{
		``:              nil,
		`*`:             nil,
		`"5"`:           {5},
		`"5", "7" `:     {5, 7},
		`"5-gzip"`:      {5},
		`"5-br"`:        {},
		`5`:             {},
		`W/"5"`:         {},
		`"05"`:          {},
		`"5`:            {},
		`"x"`:           {},
		`"x", "6",`:     {6},
		`"-1","1","+1"`: {1},
	} {
		f := &fake{}
		r := asAdmin("PATCH", "/admin/pools/spring", `{"state":"open"}`)
		if header != "" {
			r.Header.Set("If-Match", header)
		}
		require.Equal(t, 200, do(newServer(t, f), r).Code)
		require.Equal(t, want, f.last().(acted).what.(draw.PoolChange).Revisions, header)
	}
}

// TestChangesAreRefusedByCode: each refusal of a change has its status.
func TestChangesAreRefusedByCode(t *testing.T) {
	for code, status := range map[draw.Code]int{
		draw.CodeChangedMeanwhile: 412, draw.CodePoolClosed: 409, draw.CodePoolOpen: 409,
	} {
		s := newServer(t, &fake{err: draw.Errorf(code, "no")})
		w := do(s, asAdmin("PATCH", "/admin/pools/p", `{"state":"open"}`))
		require.Equal(t, status, w.Code, code)
		require.Equal(t, string(code), problemIn(t, w.Result()).Code)
		require.Empty(t, w.Header().Get("ETag"))
	}
}

// TestPoolsAreSearched: the store gets the search parameters of a list; other
// parameters are refused.
func TestPoolsAreSearched(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	for query, wanted := range map[string]draw.PoolFilter{
		"": {}, "q=": {}, "q=fr%C3%BChling+x": {Words: "frühling x"}, "state=closed": {State: draw.StateClosed},
		"archived=true": {Archived: draw.ArchivedToo}, "archived=only&q=a&state=open": {Words: "a", State: draw.StateOpen, Archived: draw.ArchivedOnly},
	} {
		w := do(s, asAdmin("GET", "/admin/pools?limit=7&after=b&"+query, ""))
		require.Equal(t, 200, w.Code, query)
		require.Equal(t, fmt.Sprintf("pools b 7 %v", wanted), f.last(), query)
	}
	for _, query := range []string{"state=won", "archived=yes", "q=%00", "q=%FF", "q=" + strings.Repeat("a", 201)} {
		w := do(s, asAdmin("GET", "/admin/pools?"+query, ""))
		require.Equal(t, "invalid-request", problemIn(t, w.Result()).Code, query)
	}
}

// TestCopyReachesTheStore: the answer has the new pool and the seals of the planned
// items.
func TestCopyReachesTheStore(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	w := do(s, asAdmin("POST", "/admin/pools/spring/copy", `{"id":"autumn","name":"Autumn"}`))
	require.Equal(t, 201, w.Code)
	require.Equal(t, "/admin/pools/autumn", w.Header().Get("Location"))
	require.JSONEq(t, `{"pool":`+strings.ReplaceAll(springJSON, `"id":"spring"`, `"id":"autumn"`)+`,"planned":[{"item":8,"count":2,"version":9,"sha256":"`+strings.Repeat("a", 64)+`","salt":"salt"}]}`, w.Body.String())
	require.Equal(t, acted{[2]any{"spring", draw.PoolCopy{ID: "autumn", Name: "Autumn"}}, "admin"}, f.last())
	require.Equal(t, 201, do(s, asAdmin("POST", "/admin/pools/spring/copy", `{"id":"autumn","name":"Autumn","days":-3,"zone":"Europe/Berlin"}`)).Code)
	wanted := f.last().(acted).what.([2]any)[1].(draw.PoolCopy)
	require.Equal(t, -3, *wanted.Days)
	require.Equal(t, "Europe/Berlin", wanted.Zone.String())
	for _, body := range []string{`{}`, `{"id":"a"}`, `{"id":"A","name":"A"}`, `{"id":"a","name":"A","days":36601}`, `{"id":"a","name":"A","days":1.5}`, `{"id":"a","name":"A","days":1,"zone":"Mars"}`, `{"id":"a","name":"A","zone":"UTC"}`} {
		require.Equal(t, "invalid-request", problemIn(t, do(s, asAdmin("POST", "/admin/pools/spring/copy", body)).Result()).Code, body)
	}
}

func TestDeleteReachesTheStore(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), asAdmin("DELETE", "/admin/pools/spring", "", "If-Match", `"7"`))
	require.Equal(t, 204, w.Code)
	require.Empty(t, w.Body.String())
	require.Equal(t, acted{[2]any{"spring", []int64{7}}, "admin"}, f.last())
	s := newServer(t, &fake{err: draw.Errorf(draw.CodeAlreadyIssued, "no")})
	require.Equal(t, "already-issued", problemIn(t, do(s, asAdmin("DELETE", "/admin/pools/spring", "")).Result()).Code)
}

// TestLogIsStreamed: the stream has a line of JSON for each entry, the same as in
// pages.
func TestLogIsStreamed(t *testing.T) {
	s := newServer(t, &fake{})
	w := do(s, asAdmin("GET", "/admin/pools/spring/log", "", "Accept", "application/x-ndjson"))
	require.Equal(t, 200, w.Code)
	require.Equal(t, "application/x-ndjson", w.Header().Get("Content-Type"))
	require.Equal(t, strings.Join(logJSON(), "\n")+"\n", w.Body.String())
	w = do(s, asAdmin("GET", "/admin/pools/spring/log?after=2", "", "Accept", "application/x-ndjson"))
	require.Equal(t, logJSON()[2]+"\n", w.Body.String())
	w = do(s, asAdmin("GET", "/admin/pools/spring/log?limit=2", "", "Accept", "application/x-ndjson"))
	require.Equal(t, strings.Join(logJSON()[:2], "\n")+"\n", w.Body.String(), "as many as are wanted")
	w = do(s, asAdmin("GET", "/admin/pools/spring/log?acts=true", "", "Accept", "application/x-ndjson"))
	require.Equal(t, strings.Join(logJSON()[:2], "\n")+"\n", w.Body.String(), "without awards")
	w = do(s, asAdmin("GET", "/admin/pools/spring/log?limit=0", "", "Accept", "application/x-ndjson"))
	require.Equal(t, "invalid-request", problemIn(t, w.Result()).Code)
}

// TestMovesAsCSV: the export of moves has their actors.
func TestMovesAsCSV(t *testing.T) {
	w := do(newServer(t, &fake{}), asAdmin("GET", "/admin/pools/spring/moves", "", "Accept", "text/csv"))
	require.Equal(t, 200, w.Code)
	require.Equal(t, "version,at,prize,delta,reason,actor,stocked,issued\n1,2026-03-04T04:06:07.000890Z,gold,10,start,admin,10,0\n", w.Body.String())
}

func (f fakeStore) PoolPage(_ context.Context, wanted draw.PoolFilter, after string, limit int) ([]draw.Pool, string, error) {
	other := somePool("other")
	other.Mode, other.State, other.Prizes = "optimistic", draw.StatePaused, nil
	other.Round, other.RoundAt = 1000, at
	err := f.note(fmt.Sprintf("pools %s %d %v", after, limit, wanted))
	if limit < 2 {
		return []draw.Pool{somePool("spring")}, "spring", err
	}
	return []draw.Pool{somePool("spring"), other}, "", err
}

func (f fakeStore) CreatePool(_ context.Context, p draw.Pool, actor string) (draw.Pool, error) {
	return p, f.note(acted{p, actor})
}

func (f fakeStore) CopyPool(_ context.Context, fromID string, c draw.PoolCopy, actor string) (draw.Pool, []draw.Planned, error) {
	return somePool(c.ID), []draw.Planned{sealed("")}, f.note(acted{[2]any{fromID, c}, actor})
}

func (f fakeStore) DeletePool(_ context.Context, id string, revisions []int64, actor string) error {
	return f.note(acted{[2]any{id, revisions}, actor})
}

func (f fakeStore) ChangePrize(_ context.Context, _, id string, c draw.PrizeChange, actor string) (draw.Prize, error) {
	return draw.Prize{ID: id, Name: "New"}, f.note(acted{c, actor})
}

func (f fakeStore) ChangePool(_ context.Context, id string, change draw.PoolChange, actor string) (draw.Pool, error) {
	return somePool(id), f.note(acted{change, actor})
}

func (f fakeStore) AddPrize(_ context.Context, _ string, p draw.Prize, actor string) (draw.Prize, error) {
	return p, f.note(acted{p, actor})
}

func (f fakeStore) Stock(_ context.Context, s draw.Stocking, actor string) (draw.Move, error) {
	return draw.Move{
		Version: 8, PoolID: s.PoolID, PrizeID: s.PrizeID, Delta: s.Delta, Reason: s.Reason, Actor: actor, Key: s.Key, At: at,
		Stocked: 110, Issued: 3, Replayed: s.Key == "again",
	}, f.note(acted{s, actor})
}
