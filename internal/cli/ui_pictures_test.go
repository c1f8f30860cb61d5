package cli

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// pictures makes the tests of pictures write docs/images again; make pictures sets it.
var pictures = flag.Bool("pictures", false, "write the pictures of docs/admin-page.md anew")

// pictureMax is the maximum size of a picture, in bytes.
const pictureMax = 200 << 10

// TestUIPictures: the pictures of docs/admin-page.md can be created, and are small.
func TestUIPictures(t *testing.T) {
	t.Parallel()
	recipients, identity := keyFiles(t)
	s := administeredBy(t, []string{"admin", "draw"}, "--seed-identity-file", identity, "--seed-recipients", recipients, "--origin", "draws.example.org")
	s.admin(http.StatusCreated, "POST", "/admin/pools/summer/commitment", `{"beacon":"quicknet"}`)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/summer", `{"state":"open"}`)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/spring/prizes/gold", `{"value":"25.00"}`)
	b := browse(t, s.url, 1100, 800)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	ctx, stop := context.WithCancel(t.Context())
	var drawing sync.WaitGroup
	drawing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			s.drawn(4, 10+10*(i%4))
			time.Sleep(100 * time.Millisecond)
		}
	})
	points := 3 // a busy machine has fewer readings
	if *pictures {
		points = 14
	}
	b.await(fmt.Sprintf(`document.querySelector(".chart.stock .line").getAttribute("d")?.split("L").length > %d`, points))
	stop()
	drawing.Wait()
	scheme := func(name string) {
		b.do(inScheme(name))
	}
	scheme("light")
	b.takes("admin-pool.png")
	b.visit("#/pools/spring/rules", "Spring draw")
	b.press("Simulate")
	b.await(`document.body.textContent.includes("20,000 draws")`)
	b.takes("admin-rules.png")
	b.edits()
	b.await(`document.querySelector("dialog .means li")`)
	b.takes("admin-rules-form.png")
	b.press("Cancel")
	b.visit("#/pools/spring/log", "Spring draw")
	b.takes("admin-log.png")
	b.visit("#/pools/summer/proof", "Summer party")
	b.takes("admin-verifiable.png")
	scheme("dark")
	b.visit("#/", "Campaigns")
	b.takes("admin-pools-dark.png")
	b.visit("#/pools/spring", "Spring draw")
	b.press("Import…")
	b.fill("Or its text", "prize,name,value,stock\ngold,,,many\nNEW,New,1.00,5\n")
	b.press("Preview")
	b.await(`document.querySelectorAll("dialog .lines li").length >= 2`)
	b.takes("admin-import-dark.png")
	b.press("Cancel")
	b.do(chromedp.EmulateViewport(390, 800, chromedp.EmulateScale(1.5)))
	scheme("light")
	b.takes("admin-phone.png")
}

// takes makes a picture of the page.
func (b *browser) takes(name string) {
	b.t.Helper()
	b.await(`document.getElementById("messages").childElementCount === 0`)
	var picture []byte
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		picture, err = cdpage.CaptureScreenshot().WithFormat(cdpage.CaptureScreenshotFormatPng).Do(ctx)
		return err
	}))
	require.Less(b.t, len(picture), pictureMax, name)
	if *pictures {
		require.NoError(b.t, os.WriteFile(filepath.Join("../../docs/images", name), picture, 0o644))
	}
}

// TestUIPicturesOfWins: the pictures of the views for awards can be created.
func TestUIPicturesOfWins(t *testing.T) {
	t.Parallel()
	s := shop(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"advent","name":"Advent 2026","currency":"EUR","rules":{"fallback":"none","budget":{"max":"50.00"}},
		"prizes":[{"id":"sled","name":"Sled","value":"49.90","stock":10},{"id":"none","name":"No luck today","kind":"blank"}]}`)
	status, body, err := s.ask("POST", "/draw", `{"pool":"advent","user":"u1"}`, "Authorization", "Bearer draw")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	b := browse(t, s.url, 1100, 620, inScheme("light"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 4`)
	b.visit("#/pools/shop/awards", "Shop win")
	b.lists("claimed", 4)
	b.chooses("u3", "u1")
	b.takes("admin-awards.png")
	b.visit("#/pools/advent", "Advent 2026")
	b.alarmed("budget used up since")
	b.takes("admin-money.png")
	s.admin(http.StatusCreated, "POST", "/admin/pools/summer/agenda", `{"at":"2999-06-21T08:00:00Z","state":"open"}`)
	b.visit("#/pools/summer", "Summer party")
	b.stepIs("dates", "done")
	b.takes("admin-ready.png")
	b.visit("#/pools/advent/manage", "Advent 2026")
	eval[bool](b, `(document.querySelector(".files").scrollIntoView(), true)`)
	b.takes("admin-manage.png")
}
