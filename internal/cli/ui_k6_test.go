package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// k6 is the file of the program k6, for a test that needs it; make ui sets it.
var k6 = flag.String("k6", "", "FILE of k6, whose draws the admin page is to follow")

// TestUIUnderK6: k6 sells a pool out, with restocks, while the page shows it. At the
// end the page's numbers are those of the audit.
func TestUIUnderK6(t *testing.T) {
	if *k6 == "" {
		t.Log("without -k6, TestUINumbers alone has draws of its own: make ui")
		return
	}
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	run := exec.Command(*k6, "run", "-e", "BASE_URL="+s.url, "-e", "ADMIN_TOKEN=admin", "-e", "DRAW_TOKEN=draw",
		"-e", "POOL=sold", "-e", "STOCK=20,180,1800,8000", "-e", "VUS=20", "-e", "AFTER=1", "../../loadtest/k6/oversell.js")
	ended := make(chan error, 1)
	go func() {
		out, err := run.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		ended <- err
	}()
	b.await(`document.querySelector("[data-pool=sold]")`)
	title := eval[string](b, `document.querySelector("[data-pool=sold] b").textContent`)
	b.visit("#/pools/sold", title)
	b.await(`parseFloat(document.querySelector("[data-figure=rate]").textContent) > 0`)
	require.NoError(t, <-ended)

	var audit struct {
		OK      bool
		Version int64
		Prizes  []struct {
			Prize                      string
			Stocked, Issued, Remaining float64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.admin(http.StatusOK, "GET", "/admin/pools/sold/audit", "")), &audit))
	require.True(t, audit.OK)
	want, issued := map[string][2]float64{}, 0.0
	for _, p := range audit.Prizes {
		want[p.Prize] = [2]float64{p.Remaining, p.Issued}
		issued += p.Issued
	}
	require.Greater(t, issued, 10_000.0)
	b.await(fmt.Sprintf(`Number(document.querySelector("[data-figure=issued]").dataset.value) === %v`, issued))
	require.Equal(t, want, b.shown())
	require.Equal(t, "sold out", eval[string](b, `document.querySelector("[data-figure=end]").textContent`))
	b.quiet(0)
}
