package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
)

// Chromium returns the address of the browser that the test process shares:
// ws://127.0.0.1:PORT/devtools/browser/ID. Each test opens its own pages in it, because
// starting a browser takes several times as long as most pages.
func Chromium(tb testing.TB) string {
	tb.Helper()
	sh := sharedOf(tb)
	url, err := Once("Chromium", func() (string, error) {
		s, err := sh.open("chromium", chromiumKind(), options{})
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(context.Background(), readyMax)
		defer cancel()
		said, err := answer(ctx, http.MethodGet, s.URL()+"/json/version", nil)
		if err != nil {
			return "", err
		}
		var version struct{ WebSocketDebuggerURL string }
		err = json.Unmarshal(said, &version)
		return version.WebSocketDebuggerURL, err
	})
	if err != nil {
		giveUp(tb, err)
	}
	return url
}

// chromiumKind returns the kind of the browser. The browser without a screen is a
// separate package, and does a third of the work. If it is not installed, the browser
// with a screen is used.
func chromiumKind() kind {
	return kind{
		packages: "chromium-headless-shell",
		programs: map[string][]string{"chromium": {"/usr/bin/chromium-headless-shell", "/usr/bin/chromium"}},
		ports:    1,
		command:  chromiumCommand,
		ready:    chromiumReady,
		url:      func(s *Server) string { return "http://" + s.Addr() },
		stop:     syscall.SIGTERM,
		discard:  syscall.SIGKILL,
	}
}

func chromiumCommand(s *Server) []string {
	return []string{
		s.programs["chromium"], "--headless", fmt.Sprintf("--remote-debugging-port=%d", s.ports[0].number), "--user-data-dir=" + s.path("data"),
		"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		// The browser sends requests only to the pages' hosts, and does nothing by itself.
		"--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-default-apps", "--disable-extensions", "--disable-breakpad", "--disable-client-side-phishing-detection",
		"--disable-quic", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain",
		// All pages share one process, because starting a process takes as long as a page.
		"--disable-features=Translate,SpareRendererForSitePerProcess,site-per-process", "--disable-site-isolation-trials",
		"--process-per-site", "--renderer-process-limit=1",
		// Hidden pages are not throttled.
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--disable-hang-monitor", "--disable-ipc-flooding-protection", "--disable-popup-blocking", "--force-color-profile=srgb",
		"about:blank",
	}
}

func chromiumReady(ctx context.Context, s *Server) error {
	_, err := answer(ctx, http.MethodGet, s.URL()+"/json/version", nil)
	return err
}
