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

	"github.com/chromedp/cdproto/emulation"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// pictures has the test of them write docs/images anew: make pictures.
var pictures = flag.Bool("pictures", false, "write the pictures of docs/admin-page.md anew")

// pictureMax is the largest picture, in bytes.
const pictureMax = 200 << 10

// TestUIPictures: those of docs/admin-page.md can be made, and are small.
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
		b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}))
	}
	take := func(name string) {
		t.Helper()
		b.await(`document.getElementById("messages").childElementCount === 0`)
		var picture []byte
		b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
			picture, err = cdpage.CaptureScreenshot().WithFormat(cdpage.CaptureScreenshotFormatPng).Do(ctx)
			return err
		}))
		require.Less(t, len(picture), pictureMax, name)
		if *pictures {
			require.NoError(t, os.WriteFile(filepath.Join("../../docs/images", name), picture, 0o644))
		}
	}
	scheme("light")
	take("admin-pool.png")
	b.visit("#/pools/spring/rules", "Spring draw")
	b.press("Simulate")
	b.await(`document.body.textContent.includes("20,000 draws")`)
	take("admin-rules.png")
	b.visit("#/pools/spring/log", "Spring draw")
	take("admin-log.png")
	b.visit("#/pools/summer/proof", "Summer party")
	take("admin-verifiable.png")
	scheme("dark")
	b.visit("#/", "Pools")
	take("admin-pools-dark.png")
	b.visit("#/pools/spring", "Spring draw")
	b.press("Import…")
	b.fill("Or its text", "prize,name,value,stock\ngold,,,many\nNEW,New,1.00,5\n")
	b.press("Preview")
	b.await(`document.querySelectorAll("dialog .lines li").length >= 2`)
	take("admin-import-dark.png")
	b.press("Cancel")
	b.do(chromedp.EmulateViewport(390, 800, chromedp.EmulateScale(1.5)))
	scheme("light")
	take("admin-phone.png")
}
