package main

import (
	"testing"
	"time"
	"os"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/require"
)

func TestPicture(t *testing.T) {
	b := browse(t, "http://127.0.0.1:8099", 1200, 900)
	shot := func(name string) {
		var png []byte
		b.do(chromedp.FullScreenshot(&png, 100))
		require.NoError(t, os.WriteFile("/tmp/shot-"+name+".png", png, 0o644))
	}
	shot("signin")
	b.signIn("admin-secret")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	time.Sleep(3 * time.Second)
	shot("pools")
	b.visit("#/pools/spring", "Spring draw")
	time.Sleep(20 * time.Second)
	shot("pool")
	for _, s := range []string{"awards", "rules", "log"} {
		b.visit("#/pools/spring/"+s, "Spring draw")
		time.Sleep(time.Second)
		if s == "rules" {
			b.press("Simulate")
			time.Sleep(2 * time.Second)
		}
		shot(s)
	}
	b.visit("#/jobs", "Jobs")
	shot("jobs")
	b.visit("#/pools/spring", "Spring draw")
	b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	time.Sleep(4 * time.Second)
	shot("dark")
	b.press("Import…")
	b.fill("Or its text", "prize,name,value,stock\ngold,,,x\nnew one,N,1,5\n")
	b.press("Preview")
	time.Sleep(time.Second)
	shot("import")
	b.press("Cancel")
	b.press("Audit")
	time.Sleep(time.Second)
	shot("audit")
	b.press("Close")
	b.do(chromedp.EmulateViewport(360, 780))
	time.Sleep(time.Second)
	t.Log("width", eval[int](b, "document.documentElement.scrollWidth"))
	shot("phone")
	b.quiet(0)
}
