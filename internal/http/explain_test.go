package http

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/problem"
)

// TestProblemsAreExplained: each code of the table is explained, and no other.
func TestProblemsAreExplained(t *testing.T) {
	t.Parallel()
	require.Len(t, problem.Explanations(), len(problem.Table()))
	s := newServer(t, &fake{}, withDrawToken)
	for code, p := range problem.Table() {
		w := do(s, request("GET", problem.Type+string(code), ""))
		require.Equal(t, 200, w.Code, code)
		var a explanationAnswer
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
		require.Equal(t, []any{problem.Type + string(code), code, p.Title, p.Status}, []any{a.Type, a.Code, a.Title, a.Status})
		require.Equal(t, p.Unknown, a.Outcome == "unknown")
		require.Equal(t, p.RetryAfter != "", a.RetryAfter > 0)
		for _, text := range []string{a.Meaning, a.Remedy} {
			require.True(t, strings.HasSuffix(text, "."), "%s: %q", code, text)
		}
		require.Equal(t, p.Status == 503, strings.Contains(a.Meaning, "Nothing happened") && strings.Contains(a.Remedy, "Retry-After"), code)
		require.Equal(t, p.Unknown, strings.Contains(a.Remedy, "same Idempotency-Key") && code != draw.CodeDrawNotFound && p.Status != 503, code)
	}
	require.Equal(t, "not-found", problemIn(t, do(s, request("GET", "/problems/frob", "")).Result()).Code)
}
