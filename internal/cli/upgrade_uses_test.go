package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// useUpgraded uses the features that the release's schema did not have: codes, claims,
// steps, webhooks and the feed over all pools. It uses them on an upgraded database with
// draws of the release.
func useUpgraded(t *testing.T, p program) {
	t.Helper()
	heard, keys := overhear(t), sealKeyFile(t, filepath.Join(t.TempDir(), "keys"), "k1")
	s := p.serve("--seal-keys", keys, "--hook-allow", "127.0.0.0/8")
	s.admin(http.StatusCreated, "POST", "/admin/hooks", `{"url":"`+heard.url+`","from":"start"}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"cards","name":"Cards","prizes":[{"id":"card","name":"Card","codes":true}]}`)
	lines := stocktest.CodeLines("LATER", 3)
	status, body, err := s.ask("POST", "/admin/pools/cards/prizes/card/codes", strings.Join(lines, "\n")+"\n",
		"Authorization", "Bearer "+s.token, "Content-Type", "text/plain")
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, body)
	s.admin(http.StatusOK, "PUT", "/admin/pools/cards/rules", `{"claims":{"within":"1h"}}`)
	status, body, err = s.draw("cards", "u1", "k1")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	claimed := s.admin(http.StatusOK, "POST", "/pools/cards/draws/"+members(t, body)["draw"].(string)+"/claim", `{"user":"u1"}`)
	require.Equal(t, lines[0], onlyAward(t, claimed)["code"])
	file := fmt.Sprintf("award,to,reference\n%.0f,fulfilled,DHL 1\n", onlyAward(t, body)["version"])
	status, body, err = s.ask("POST", "/admin/pools/cards/steps", file, "Authorization", "Bearer "+s.token, "Content-Type", "text/csv")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	require.EqualValues(t, 1, members(t, body)["written"])
	require.Eventually(t, func() bool {
		return strings.Contains(heard.text(), "award.fulfilled") && strings.Contains(s.admin(http.StatusOK, "GET", "/admin/awards?limit=1000", ""), `"awards":[{`)
	}, commandMax, 50*time.Millisecond)
	require.Equal(t, exitOK, s.end().code)
	p.vars["DRAWSVC_SEAL_KEYS"] = keys
	require.Contains(t, p.ok("audit"), "0 violations")
}
