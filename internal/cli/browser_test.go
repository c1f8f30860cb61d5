package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// browser is a tab of Chromium that shows the admin page of a service.
type browser struct {
	t    *testing.T
	ctx  context.Context
	home string

	mu sync.Mutex
	// errors and refusals are messages of the console. asked are the hosts of all
	// requests.
	errors, refusals []string
	asked            map[string]bool
}

// stepMax is the timeout of each step of a test, even on a busy machine.
const stepMax = 2 * time.Minute

// speaks makes a page's browser prefer the given languages, such as "de-DE,de". The
// browser's own override would also affect pages of other tests.
func speaks(languages string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var agent string
		if err := chromedp.Evaluate("navigator.userAgent", &agent).Do(ctx); err != nil {
			return err
		}
		return emulation.SetUserAgentOverride(agent).WithAcceptLanguage(languages).Do(ctx)
	})
}

// browse opens the admin page in British English, in a window of the given size. Other
// tests have windows of the same browser, but never this service's address, so that
// they share no stored data.
func browse(t *testing.T, home string, width, height int, more ...chromedp.Action) *browser {
	t.Helper()
	shared, leave := chromedp.NewRemoteAllocator(context.Background(), servertest.Chromium(t))
	link, unlink := chromedp.NewContext(shared, chromedp.WithErrorf(func(string, ...any) {})) // without messages about events that chromedp does not support
	t.Cleanup(func() {
		unlink()
		leave()
		chromedp.FromContext(link).Allocator.Wait()
	})
	connected, err := chromedp.FromContext(link).Allocator.Allocate(link)
	require.NoError(t, err)
	chromedp.FromContext(link).Browser = connected
	executor := cdp.WithExecutor(link, connected)
	window, err := cdptarget.CreateTarget("about:blank").WithNewWindow(true).Do(executor)
	require.NoError(t, err)
	ctx, end := chromedp.NewContext(link, chromedp.WithTargetID(window))
	t.Cleanup(end)
	b := &browser{t: t, ctx: ctx, home: home, asked: map[string]bool{}}
	chromedp.ListenTarget(ctx, b.note)
	require.NoError(t, chromedp.Run(ctx)) // the context of the first run applies to all later steps, so it has no timeout
	b.do(append([]chromedp.Action{cdplog.Enable(), network.Enable(), speaks("en-GB,en")}, append(more, chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(home+"/ui"))...)...)
	return b
}

// note records the console's messages, and the hosts of requests.
func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.errors = append(b.errors, fmt.Sprintf("%s: %s", e.Type, e.Args[0].Value))
		}
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, e.ExceptionDetails.Error())
	case *cdplog.EventEntryAdded:
		switch {
		case e.Entry.Level != cdplog.LevelError && e.Entry.Level != cdplog.LevelWarning:
		case e.Entry.Source == cdplog.SourceNetwork && strings.Contains(e.Entry.Text, "the server responded with a status of"):
			refusal := e.Entry.Text + " " + e.Entry.URL
			if again := strings.Contains(refusal, "404") && slices.Contains(b.refusals, refusal); !again {
				b.refusals = append(b.refusals, refusal) // a view may read a removed thing several times
			}
		default:
			b.errors = append(b.errors, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" {
			b.asked[u.Scheme+"://"+u.Host] = true
		}
	}
}

// do runs steps.
func (b *browser) do(steps ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepMax)
	defer cancel()
	require.NoError(b.t, chromedp.Run(ctx, steps...))
}

// signIn signs in with a token and waits for the pools.
func (b *browser) signIn(token string) {
	b.t.Helper()
	b.await(`document.querySelector(".sign-in input")`)
	b.await(`document.querySelector(".sign-in input").value = "", true`)
	b.do(chromedp.SendKeys(`.sign-in input`, token+"\r"))
}

// eval returns the value of an expression of JavaScript.
func eval[T any](b *browser, expression string) (value T) {
	b.t.Helper()
	b.do(chromedp.Evaluate(expression, &value))
	return value
}

// awaiting is a promise that resolves when an expression is true. The expression is
// evaluated when the page has changed, and at intervals, because it may depend on
// something outside the page. Evaluating it all the time would cost more than the page.
// An expression that throws an error counts as false, because it names a part of the page
// that does not exist yet.
const awaiting = `new Promise((resolve) => {
	const end = () => { changed.disconnect(); clearInterval(tick); resolve(true); };
	const check = () => { try { if (%s) end(); } catch { } };
	const changed = new MutationObserver(check);
	changed.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
	const tick = setInterval(check, 200);
	check();
})`

// await waits until an expression is true.
func (b *browser) await(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepMax)
	defer cancel()
	err := chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf(awaiting, expression), nil, awaited))
	if errors.Is(err, context.DeadlineExceeded) {
		b.t.Fatalf("never true: %s; the page says:\n%s", expression, eval[string](b, "document.body.innerText"))
	}
	require.NoError(b.t, err, expression)
}

// press clicks the button with a text, in the dialog if one is open.
func (b *browser) press(text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button, a")].find((b) => b.textContent === %q)`, text)
	b.await(find)
	eval[bool](b, find+".click() ?? true")
}

// offers reports whether there is a button with a text.
func (b *browser) offers(text string) bool {
	b.t.Helper()
	return eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll("button")].some((b) => b.textContent === %q)`, text))
}

// fill types into the field with a label, of the dialog if one is open.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => {
		const place = document.querySelector("dialog[open]") ?? document;
		const field = [...place.querySelectorAll("label")].find((l) => l.textContent.trim() === %q).control;
		field.value = %q;
		field.dispatchEvent(new Event("input", { bubbles: true }));
		return true;
	})()`, label, text))
}

// labelled is an expression for the field with a label.
func labelled(label string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("label")].find((l) => l.textContent.trim() === %q).control`, label)
}

// choose selects a file with the given content in the dialog.
func (b *browser) choose(content string) {
	b.t.Helper()
	b.await(`document.querySelector("dialog input[type=file]")`)
	eval[bool](b, fmt.Sprintf(`(() => {
		const files = new DataTransfer(), input = document.querySelector("dialog input[type=file]");
		files.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], "file.csv"));
		input.files = files.files;
		return input.dispatchEvent(new Event("change"));
	})()`, base64.StdEncoding.EncodeToString([]byte(content))))
}

// tick sets the check box of the dialog whose label contains the given text.
func (b *browser) tick(part string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll("dialog[open] label")].find((l) => l.textContent.includes(%q)).control.checked = true`, part))
}

// said waits for a message of the page.
func (b *browser) said(part string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`document.getElementById("messages").textContent.includes(%q)`, part))
}

// says waits until the page, or the open dialog, contains part, even if part is folded
// under "Technical".
func (b *browser) says(part string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`((place) => [place.innerText, ...[...place.querySelectorAll(".technical")].map((e) => e.textContent)].some((text) => text.includes(%q)))(document.querySelector("dialog[open]") ?? document.querySelector("main"))`, part))
}

// inScheme makes a page's browser prefer light or dark colours.
func inScheme(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// fits checks that nothing is wider than the window.
func (b *browser) fits(about string) {
	b.t.Helper()
	require.LessOrEqual(b.t, eval[int](b, `document.documentElement.scrollWidth - innerWidth`), 0, "%s is wider than the window", about)
}

// submits searches the awards of a pool by a field; by is the field's value in the list
// of fields, and "" leaves the selected field unchanged.
func (b *browser) submits(by, word string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`((by, word) => {
		const q = document.querySelector(".search input");
		if (by) q.form.querySelector("select").value = by;
		q.value = word;
		q.form.requestSubmit();
		return true;
	})(%q, %q)`, by, word))
}

// find searches the awards of a pool, and waits for the result.
func (b *browser) find(by, word string) {
	b.t.Helper()
	b.submits(by, word)
	b.await(`/^[1-9][0-9,]* found\.$/.test(document.querySelector(".body [role=status]")?.textContent)`)
}

// visit shows a view of the page.
func (b *browser) visit(hash, title string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(location.hash = %q, true)`, hash))
	b.await(fmt.Sprintf(`document.querySelector("h1")?.textContent === %q && document.querySelector("main").dataset.shown === %q`, title, hash))
}

// quiet checks that the console had no error, that no other host was requested, and
// that the service refused only what the test expected.
func (b *browser) quiet(refusals int) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors, "the console")
	require.Len(b.t, b.refusals, refusals, "%v", b.refusals)
	require.Equal(b.t, map[string]bool{b.home: true}, b.asked)
}

// awaited makes the browser settle an expression's promise before its value is taken.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
