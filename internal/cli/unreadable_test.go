package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock/stocktest"
)

// laterZone is a time zone that only the later program has.
const laterZone = "America/Coyhaiquex"

// buildLater builds the program with a further time zone, like a later release.
func buildLater(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	domain, err := filepath.Abs("../../internal/draw/rules")
	require.NoError(t, err)
	own, err := os.ReadFile(filepath.Join(domain, "zoneinfo.zip"))
	require.NoError(t, err)
	tokyo, err := os.ReadFile(filepath.Join(domain, "testdata/Tokyo"))
	require.NoError(t, err)
	archive, err := zip.NewReader(bytes.NewReader(own), int64(len(own)))
	require.NoError(t, err)
	var later bytes.Buffer
	w := zip.NewWriter(&later)
	for _, f := range archive.File {
		require.NoError(t, w.Copy(f))
	}
	zone, err := w.Create(laterZone)
	require.NoError(t, err)
	_, err = zone.Write(tokyo)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zoneinfo.zip"), later.Bytes(), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(domain, "zoneinfo.zip"): filepath.Join(dir, "zoneinfo.zip")}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	build := buildAsTested(t.Context(), filepath.Join(dir, "drawsvc"), "../../cmd/drawsvc")
	build.Args = append([]string{"go", "build", "-overlay", filepath.Join(dir, "overlay.json")}, build.Args[2:]...)
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return filepath.Join(dir, "drawsvc")
}

// TestZoneThatOneInstanceKnows: one of two instances on one database lacks a time zone.
// That instance answers known keys and makes changes, but decides no new draw of the
// pool. The other instance continues to draw, and carries out the agenda.
func TestZoneThatOneInstanceKnows(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "postgres"))
	laterProgram := p
	laterProgram.vars = maps.Clone(p.vars)
	laterProgram.file = buildLater(t)
	const token = "token-of-an-admin-0123456789abcdef"
	a, b := laterProgram.start("--admin-token", token), p.start("--admin-token", token)
	a.token, b.token = token, token
	document := fmt.Sprintf(`{"limits":[{"of":"draws","max":100,"per":"day"}],"zone":%q}`, laterZone)
	b.admin(http.StatusBadRequest, "PUT", "/admin/pools/spring/rules", document) // the caller's own document
	a.won("spring", "u", "known")
	a.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", document)

	refused := func() {
		t.Helper()
		status, body, err := b.draw("spring", "u", "new")
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, status, body)
		require.Contains(t, body, `"code":"rules-unreadable","outcome":"none"`)
		_, replayed := b.won("spring", "u", "known")
		require.True(t, replayed)
	}
	refused()
	a.won("spring", "u", "a-1")
	b.admin(http.StatusOK, "PATCH", "/admin/pools/spring", `{"state":"paused"}`)
	b.admin(http.StatusOK, "PATCH", "/admin/pools/spring", `{"state":"open"}`)
	require.Contains(t, b.admin(http.StatusOK, "GET", "/admin/pools/spring/rules", ""), laterZone)
	found := p.run("doctor").stdout
	require.Contains(t, found, "rules-unreadable")
	require.Contains(t, found, "time zones are of "+rules.ZoneRelease)
	require.Eventually(t, func() bool {
		_, body, err := b.ask("GET", "/readyz", "")
		return err == nil && strings.Contains(body, `"rules":"unreadable"`)
	}, time.Minute, 100*time.Millisecond)
	b.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"limits":[{"of":"draws","max":100}]}`)
	b.won("spring", "u", "b-1")

	at := time.Now().Add(3 * time.Second).UTC().Format(time.RFC3339Nano)
	a.admin(http.StatusCreated, "POST", "/admin/pools/spring/agenda", fmt.Sprintf(`{"at":%q,"rules":%s}`, at, document))
	require.Contains(t, b.admin(http.StatusOK, "GET", "/admin/pools/spring/agenda", ""), laterZone)
	require.Eventually(t, func() bool { // the instance that can read the item carries it out
		return strings.Contains(b.admin(http.StatusOK, "GET", "/admin/pools/spring/rules", ""), laterZone)
	}, time.Minute, 100*time.Millisecond)
	refused()
	a.won("spring", "u", "a-2")
	b.admin(http.StatusOK, "DELETE", "/admin/pools/spring/rules", "")
	b.won("spring", "u", "b-2")
}
