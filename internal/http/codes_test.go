package http

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
)

// codesAsked is the request about codes that a fake store got.
type codesAsked struct {
	draw.CodeImport
	file    string
	dropped int64
}

func (f fakeStore) ImportCodes(_ context.Context, w draw.CodeImport, file io.Reader, _ func(done, total int)) (draw.ImportedCodes, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return draw.ImportedCodes{}, err
	}
	done := draw.ImportedCodes{Added: 2, Skipped: 1, Places: 5, Stocked: 3, Version: 9, Replayed: w.Key == "again"}
	if !w.DryRun {
		done.Seal = draw.Seal{SHA256: "9f3c", Salt: "5b1e"}
	}
	return done, f.note(codesAsked{CodeImport: w, file: string(text)})
}

func (f fakeStore) CodeCounts(_ context.Context, poolID, prizeID string) (draw.CodeCounts, error) {
	counts := draw.CodeCounts{Places: 5, Stocked: 3, Issued: 2, Keys: map[string]int64{"k1": 5}}
	return counts, f.note(codesAsked{CodeImport: draw.CodeImport{PoolID: poolID, PrizeID: prizeID}})
}

func (f fakeStore) DropCodes(_ context.Context, poolID, prizeID string, count int64, actor string) (draw.CodeCounts, error) {
	counts := draw.CodeCounts{Places: 4, Stocked: 3, Issued: 2, Keys: map[string]int64{"k1": 4}}
	return counts, f.note(codesAsked{CodeImport: draw.CodeImport{PoolID: poolID, PrizeID: prizeID, Actor: actor}, dropped: count})
}

const codesCall = "/admin/pools/p/prizes/card/codes"

// codedDraw is a draw whose award has a code.
func codedDraw(_ context.Context, r draw.Request) (draw.Draw, error) {
	a := award(r.DrawID, r.UserID)
	a.HasCode, a.Code = true, `AA\11 `
	return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID, Awards: []draw.Award{a}}, nil
}

// TestCodesAreImported: codes are imported, counted and dropped by the roles that may
// do so.
func TestCodesAreImported(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	text := []string{"Content-Type", "text/plain"}
	w := do(s, asAdmin("POST", codesCall, "a\nb\n", append(text, "Idempotency-Key", "again")...))
	require.Equal(t, 201, w.Code, w.Body)
	require.Equal(t, `{"pool":"p","prize":"card","added":2,"skipped":1,"places":5,"stocked":3,"reserve":2,"version":9,`+
		`"sha256":"9f3c","salt":"5b1e","dry_run":false,"replayed":true}`+"\n", w.Body.String())
	require.Equal(t, codesAsked{CodeImport: draw.CodeImport{PoolID: "p", PrizeID: "card", Key: "again", Actor: "admin"}, file: "a\nb\n"}, f.last())
	w = do(s, asAdmin("POST", codesCall+"?dry_run=true&skip=true&reserve=true", "a\n", "Content-Type", "text/csv; charset=utf-8"))
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"sha256":null,"salt":null,"dry_run":true`)
	require.Equal(t, draw.CodeImport{PoolID: "p", PrizeID: "card", Actor: "admin", Reserve: true, Skip: true, DryRun: true}, f.last().(codesAsked).CodeImport)
	require.Equal(t, 415, do(s, asAdmin("POST", codesCall, "{}", "Content-Type", "application/json")).Code)
	require.Equal(t, 400, do(s, asAdmin("POST", codesCall+"?skip=yes", "a\n", text...)).Code)

	w = do(s, asAdmin("GET", codesCall, ""))
	require.Equal(t, `{"pool":"p","prize":"card","places":5,"stocked":3,"issued":2,"reserve":2,"keys":{"k1":5}}`+"\n", w.Body.String())
	w = do(s, asAdmin("DELETE", codesCall+"?count=7", ""))
	require.Equal(t, 200, w.Code, w.Body)
	require.Equal(t, int64(7), f.last().(codesAsked).dropped)
	for _, query := range []string{"", "?count=0", "?count=x", "?count=-1"} {
		require.Equal(t, 400, do(s, asAdmin("DELETE", codesCall+query, "")).Code, query)
	}

	for role, want := range map[access.Role][3]int{access.Stock: {403, 200, 403}, access.Auditor: {403, 200, 403}, access.Draw: {403, 403, 403}} {
		token := "a-token-of-the-tests-of-role-" + string(role)
		of := newServer(t, f, func(c *Config) {
			c.Tokens = keep(adminEntry(), access.Token{Name: "x", Role: role, Digest: access.DigestOf(token)})
		})
		for i, method := range []string{"POST", "GET", "DELETE"} {
			r := request(method, codesCall, "a\n", "Content-Type", "text/plain", "Authorization", "Bearer "+token)
			require.Equal(t, want[i], do(of, r).Code, "%s as %s", method, role)
		}
	}
}

// TestCodesOfAnswers: the answer to a draw has the code of its award, answers of pools
// without codes have no such member, and errors state whether something was drawn.
func TestCodesOfAnswers(t *testing.T) {
	t.Parallel()
	f := &fake{codesAway: true}
	s := newServer(t, f)
	require.JSONEq(t, `{"status":"ready","codes":"unavailable"}`, do(s, request("GET", "/readyz", "")).Body.String())
	plain := do(s, request("POST", "/draw", `{"pool":"p","user":"u1"}`))
	require.NotContains(t, plain.Body.String(), "code")
	f.drawn = codedDraw
	coded := do(s, request("POST", "/draw", `{"pool":"p","user":"u1"}`))
	require.Contains(t, coded.Body.String(), `,"at":"2026-03-04T04:06:07.000890Z","code":"AA\\11 "}]}`)
	for unasked, want := range map[bool]string{false: "none", true: "unknown"} {
		f.drawn = func(context.Context, draw.Request) (draw.Draw, error) {
			err := draw.ErrorSealKeyMissing("p")
			err.KeyUnasked = unasked
			return draw.Draw{}, err
		}
		w := do(s, request("POST", "/draw", `{"pool":"p","user":"u1"}`, "Idempotency-Key", "k"))
		require.Equal(t, 503, w.Code)
		require.Contains(t, w.Body.String(), `"code":"seal-key-missing","outcome":"`+want+`"`)
		require.Equal(t, "10", w.Header().Get("Retry-After"))
	}
}
