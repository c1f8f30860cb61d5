package cli

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	docpage "drawsvc/internal/page"
	"drawsvc/internal/servertest"
)

// grantsOfPage returns the statements that docs/install.md gives for the account of the
// service.
func grantsOfPage(tb testing.TB) []string {
	tb.Helper()
	text, err := os.ReadFile("../../docs/install.md")
	require.NoError(tb, err)
	blocks, err := docpage.Blocks(string(text))
	require.NoError(tb, err)
	var statements []string
	for line := range strings.Lines(blocks["grants"]) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ";") {
			statements = append(statements, line)
		}
	}
	require.Len(tb, statements, 3)
	return statements
}

// TestRightsOfTheInstallPage: with the rights of the page the service draws, runs jobs,
// changes display texts and drops codes, and the doctor reports no missing right. The
// broken double lacks the statement that grants DELETE: the doctor names the tables, and
// no job begins.
func TestRightsOfTheInstallPage(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres")
	owner := on(t, server.URL())
	owner.ok("migrate", "up")
	db := rows(t, server.URL())
	u, err := url.Parse(server.URL())
	require.NoError(t, err)
	u.User = url.UserPassword("draws", "of-the-tests")
	keys := sealKeyFile(t, filepath.Join(t.TempDir(), "seal.keys"), "k1")
	statements := append([]string{`CREATE ROLE draws LOGIN PASSWORD 'of-the-tests'`}, grantsOfPage(t)...)
	const deletes = 3
	for i, statement := range statements {
		if i == deletes {
			require.Contains(t, on(t, u.String()).run("doctor").stdout,
				"danger: privileges: this account lacks DELETE on catalogue, DELETE on codes, DELETE on job_runs, DELETE on lock_tokens\n")
			s := on(t, u.String()).serve()
			require.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), "job did not begin") }, commandMax, 50*time.Millisecond)
			require.Equal(t, exitOK, s.end().code)
		}
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}

	require.NotContains(t, on(t, u.String()).run("doctor").stdout, "privileges:")
	s := on(t, u.String()).serve("--seal-keys", keys)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring","prizes":[{"id":"gold","name":"Gold","stock":1}]}`)
	for _, currency := range []string{`"EUR"`, `"USD"`, `null`} { // display texts are replaced without DELETE
		s.admin(http.StatusOK, "PATCH", "/admin/pools/spring", `{"currency":`+currency+`,"text":"Each day a coin.","fair":true}`)
		s.admin(http.StatusOK, "PATCH", "/admin/pools/spring/prizes/gold", `{"display":{"name":"Coin","text":`+currency+`}}`)
	}
	s.admin(http.StatusCreated, "POST", "/admin/pools/spring/prizes", `{"id":"card","name":"Card","codes":true}`)
	status, body := s.importing([]string{"A-1", "A-2"}, "?reserve=true")
	require.Equal(t, http.StatusCreated, status, body)
	s.admin(http.StatusOK, "DELETE", "/admin/pools/spring/prizes/card/codes?count=1", "")
	status, body, err = s.draw("spring", "u1", "k1")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	// The job is due since the first start, because it never began.
	require.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), `"msg":"job ended","job":"audit"`) }, commandMax, 50*time.Millisecond)
	require.NotContains(t, s.stderr.String(), "permission denied")
	require.Equal(t, exitOK, s.end().code)
}
