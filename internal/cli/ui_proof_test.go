package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/servertest/drand"
)

// pastedAll runs lines of the page as if they were pasted into a shell that finds this
// program, and returns their output.
func pastedAll(t *testing.T, folder, lines string) string {
	t.Helper()
	programs := t.TempDir()
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(programs, "drawsvc")))
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", lines)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), beMain+"=yes", "PATH="+programs+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", lines, out)
	return string(out)
}

// command returns the command on the page that contains part, to be pasted.
func (b *browser) command(part string) string {
	b.t.Helper()
	find := fmt.Sprintf(`[...(document.querySelector("dialog[open]") ?? document).querySelectorAll(".paste pre")].find((p) => p.textContent.includes(%q))`, part)
	b.await(find)
	return eval[string](b, find+".textContent")
}

// verifiable returns a service that can commit pools, and allows local callers to draw.
func verifiable(t *testing.T) *service {
	t.Helper()
	servertest.NeedPrograms(t, "curl", "curl")
	recipients, identity := keyFiles(t)
	return administeredBy(t, []string{"admin", "auditor"}, "--public-draw", "--seed-identity-file", identity, "--seed-recipients", recipients)
}

// TestUIVerifiable: a pool is committed to a beacon, opened with its round, drawn from,
// closed and revealed on the page, and the command on the page verifies it.
func TestUIVerifiable(t *testing.T) {
	t.Parallel()
	s := verifiable(t)
	chain := drand.New(t, time.Now().Unix()-100, 1)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/proof", "Summer party")
	b.says("nobody can check later")
	require.Contains(t, b.command("pool commit"), "drawsvc pool commit summer --origin 127.0.0.1:")
	b.press("Make it provably fair…")
	b.fill("Or another chain", "fastnet")
	b.press("Make it provably fair")
	b.says("the beacon must be none, quicknet, or")
	b.fill("Or another chain", chain.Beacon())
	require.True(t, eval[bool](b, `[...document.querySelectorAll("dialog label")].find((l) => l.textContent.trim() === "Published under").control.value === location.host`))
	b.tick("answer every draw with a receipt")
	b.press("Make it provably fair")
	b.said("The campaign is provably fair.")
	b.says("Round announced\nnone")
	b.says("Receipts\nwith every draw")
	b.says("which every draw's answer has:")
	require.Contains(t, b.command("drawsvc commitment v1"), "\nbeacon "+chain.Beacon()+"\n")
	b.says("Not proven: that users are real")

	b.press("Announce a round…")
	require.Contains(t, b.command("--fetch"), "drawsvc pool open summer --fetch --server "+s.url)
	b.press("Announce")
	b.said("is announced.")
	var pool struct{ Opening struct{ Round int64 } }
	require.NoError(t, json.Unmarshal([]byte(s.admin(http.StatusOK, "GET", "/admin/pools/summer", "")), &pool))
	round := pool.Opening.Round
	b.says(fmt.Sprintf("Round announced\n%d", round))
	b.press("Open with the round…")
	b.fill("Or its text", chain.File(round+1))
	b.press("Open")
	b.says("is announced to open with round")
	b.fill("Or its text", "no round")
	b.press("Open")
	b.says("The text is not a round")
	b.fill("Or its text", chain.File(round))
	b.press("Open")
	b.said("The campaign is open.")
	b.says(fmt.Sprintf("Round in use\n%d", round))

	folder := t.TempDir()
	status, answer, err := s.ask("POST", "/draw", `{"pool":"summer","user":"USER"}`, "Idempotency-Key", "it's-mine")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, answer)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "answer.json"), []byte(answer), 0o600))
	b.visit("#/pools/summer/awards", "Summer party")
	b.find("draw", "it's-mine")
	b.press("Receipt…")
	b.says("no checkpoint yet")
	require.Contains(t, pastedAll(t, folder, b.command("receipt verify")), "the receipt holds")
	b.press("Close")

	b.visit("#/pools/summer/proof", "Summer party")
	b.press("Close…")
	b.press("Close permanently")
	b.said("The campaign is closed.")
	b.press("Reveal the seed…")
	b.press("Reveal permanently")
	b.said("The seed is revealed.")
	require.Contains(t, pastedAll(t, folder, b.command("drawsvc verify")), "1 award replayed from version 4 on, 1 opening")
	exported := t.TempDir() // the service uses the SQLite file
	require.NoError(t, os.WriteFile(filepath.Join(exported, "token"), []byte(s.token), 0o600))
	require.Contains(t, pastedAll(t, exported, b.command("export-proof")+"\ndrawsvc verify proof"), "1 award replayed")
	b.visit("#/pools/summer/awards", "Summer party")
	b.find("draw", "it's-mine")
	b.press("Receipt…")
	b.says("in the log")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "answer.json"), []byte(b.command(`{"receipt"`)), 0o600))
	require.Contains(t, pastedAll(t, folder, b.command("receipt verify")), "the receipt holds")
	b.press("Close")
	b.visit("#/", "Campaigns")
	b.await(`document.querySelector("[data-pool=summer]").textContent.includes("verifiable")`)
	require.False(t, eval[bool](b, `document.querySelector("[data-pool=spring]").textContent.includes("verifiable")`))
	b.quiet(2) // a wrong name of a beacon, and a wrong round
	verifiableToAuditors(t, s)
}

// verifiableToAuditors: an auditor sees the same, but the page offers no action.
func verifiableToAuditors(t *testing.T, s *service) {
	t.Helper()
	b := browse(t, s.url, 375, 800)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/proof", "Summer party")
	b.says("Seed\nrevealed")
	require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), 375)
	require.Empty(t, eval[string](b, contrast))
	require.False(t, eval[bool](b, `[...document.querySelectorAll("main button")].some((b) => !["Copy", "Audit"].includes(b.textContent))`))
	b.visit("#/pools/spring/proof", "Spring draw")
	b.says("Pause the campaign to make it provably fair.")
	b.visit("#/pools/summer/awards", "Summer party")
	b.find("draw", "it's-mine")
	require.False(t, b.offers("Receipt…"), "the service shows it to who draws")
	b.quiet(0)
}

// TestUIWithoutSeeds: on an instance without an identity, the page states that next to
// the pool. A pool is committed only under the name that the dialog shows.
func TestUIWithoutSeeds(t *testing.T) {
	t.Parallel()
	recipients, _ := keyFiles(t)
	s := administeredBy(t, []string{"admin", "auditor"}, "--public-draw", "--seed-recipients", recipients, "--origin", "draws.example.org")
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/proof", "Summer party")
	b.press("Make it provably fair…")
	b.fill("Published under", "other.example.org")
	b.press("Make it provably fair")
	b.says("the service publishes its logs under draws.example.org, by its --origin")
	b.quiet(1)
	s.admin(http.StatusCreated, "POST", "/admin/pools/summer/commitment", `{"epochs":1,"epoch_length":5}`)
	b = browse(t, s.url, 1200, 900)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/proof", "Summer party")
	b.says("This server cannot draw")
	b.says("or choose among seeds")
	b.says("Logdraws.example.org/summer")
	b.says("Receipts\nwhere a draw asks for one")
	b.says("Seed in use1 of 1, 5 entries each")
	copies := fmt.Sprintf(awaiting, `[...document.querySelectorAll("button")].some((b) => b.textContent === "Copied") || getSelection().toString().includes("drawsvc commitment v1")`)
	b.await(`[...document.querySelectorAll("button")].some((b) => b.textContent === "Copy")`)
	// The check is made in one step, because the button shows the text for only two
	// seconds.
	b.do(chromedp.Evaluate(`[...document.querySelectorAll("button")].find((b) => b.textContent === "Copy").click(); `+copies, nil, awaited))
	for range 5 {
		s.admin(http.StatusOK, "POST", "/admin/pools/summer/prizes/hat/stock", `{"delta":1,"reason":"more"}`)
	}
	b.says("All seeds are used")
	b.quiet(0)
}
