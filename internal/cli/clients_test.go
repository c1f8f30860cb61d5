package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/client"
	"drawsvc/internal/servertest"
)

// recipes returns the loops of docs/clients.md that tests execute, by language.
func recipes(t *testing.T) map[string]caller {
	t.Helper()
	text, err := os.ReadFile("../../docs/clients.md")
	require.NoError(t, err)
	all := map[string]caller{"go": goClient}
	for language, i := range interpreters(t) {
		all[language] = func(ctx context.Context, address string) (string, error) {
			return i.run(ctx, strings.ReplaceAll(block(t, string(text), language), "http://127.0.0.1:8080", address))
		}
	}
	return all
}

// block returns the only block of a language on a page.
func block(t *testing.T, text, language string) string {
	t.Helper()
	parts := strings.Split(text, "```"+language+"\n")
	require.Len(t, parts, 2, "one block of %s", language)
	code, _, closed := strings.Cut(parts[1], "```\n")
	require.True(t, closed)
	return code
}

// goClient draws with package client.
func goClient(ctx context.Context, address string) (string, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &client.Client{URL: address, HTTP: &http.Client{Transport: transport}}
	made, err := c.Draw(ctx, client.Request{Pool: "demo", User: "u1", Key: client.NewKey()})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(made)
	return string(text), err
}

// throughACut makes a caller draw on the demo. It cuts the connection after the draw is
// durable and before the response arrives. It compares the result of the caller with the
// database.
func throughACut(t *testing.T, call caller) error {
	t.Helper()
	s := on(t, "sqlite:"+filepath.Join(t.TempDir(), "demo.db")).serve("--demo")
	awards := func() (drawn []string) {
		var page struct{ Awards []struct{ Draw string } }
		require.NoError(t, json.Unmarshal([]byte(s.admin(200, "GET", "/admin/pools/demo/awards", "")), &page))
		for _, a := range page.Awards {
			drawn = append(drawn, a.Draw)
		}
		return drawn
	}
	proxy := servertest.StartProxy(t, s.url)
	proxy.HoldAnswers()
	ctx, cancel := context.WithTimeout(t.Context(), commandMax)
	defer cancel()
	type result struct {
		printed string
		err     error
	}
	ended := make(chan result, 1)
	go func() {
		printed, err := call(ctx, proxy.URL())
		ended <- result{printed, err}
	}()
	require.Eventually(t, func() bool { return len(awards()) > 0 }, commandMax, 10*time.Millisecond, "the draw is durable")
	proxy.Cut()
	proxy.Pass()
	r := <-ended
	if r.err != nil {
		return r.err
	}
	var answer struct {
		Draw     string
		Replayed bool
		Awards   []struct{ Prize string }
	}
	if err := json.Unmarshal([]byte(r.printed), &answer); err != nil {
		return fmt.Errorf("%w: %s", err, r.printed)
	}
	switch drawn := awards(); {
	case len(drawn) != 1:
		return fmt.Errorf("%d awards of one draw", len(drawn))
	case answer.Draw != drawn[0] || !answer.Replayed || len(answer.Awards) != 1:
		return fmt.Errorf("the answer is not the award's: %s", r.printed)
	}
	return nil
}

// TestClientsSettleACutConnection: with each loop of docs/clients.md, and with the Go
// client, the demo makes exactly one award, and the caller gets it in the end.
func TestClientsSettleACutConnection(t *testing.T) {
	t.Parallel()
	for language, call := range recipes(t) {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, throughACut(t, call))
		})
	}
}

// TestClientsSettleACutConnectionCatches: wrong loops fail.
func TestClientsSettleACutConnectionCatches(t *testing.T) {
	t.Parallel()
	twice := func(ctx context.Context, address string) (string, error) {
		short, cancel := context.WithCancel(ctx)
		defer cancel()
		if printed, err := once(short, address); err == nil {
			return printed, nil
		}
		return goClient(ctx, address)
	}
	for name, c := range map[string]struct {
		call caller
		want string
	}{
		"a key for each attempt": {twice, "2 awards of one draw"},
		"no retry":               {once, ""}, // there are many messages for a broken connection
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, throughACut(t, c.call), c.want)
		})
	}
}

// once draws without a loop.
func once(ctx context.Context, address string) (string, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/draw", strings.NewReader(`{"pool":"demo","user":"u1"}`))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// TestRecipesSettle: the recipes retry with the same key after every response that is
// not final, and end with a final response.
func TestRecipesSettle(t *testing.T) {
	t.Parallel()
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "500")
		_, _ = io.WriteString(w, `{"draw":`) // the answer is cut here
		panic(http.ErrAbortHandler)
	}
	open := []http.HandlerFunc{
		answer(503, `{"code":"contended"}`), cut, half, answer(504, `{"code":"outcome-unknown"}`), answer(500, `{}`), answer(429, `{}`), answer(502, "<html>"),
	}
	for language, call := range recipes(t) {
		for status, code := range map[int]string{200: "won", 409: "sold-out"} {
			if language == "go" {
				continue // the Go client's own tests cover this
			}
			t.Run(language+" "+code, func(t *testing.T) {
				t.Parallel()
				printed, keys := script(t, append(open[:len(open):len(open)], answer(status, `{"code":"`+code+`"}`)), call)
				require.JSONEq(t, `{"code":"`+code+`"}`, printed)
				require.Len(t, keys, len(open)+1)
				for _, key := range keys {
					require.Equal(t, keys[0], key)
					require.Regexp(t, risingKey, key)
				}
			})
		}
	}
}

// TestRecipesHonourRetryAfter: no request is sent earlier than Retry-After allows.
func TestRecipesHonourRetryAfter(t *testing.T) {
	t.Parallel()
	busy := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		answer(503, `{"code":"draining"}`)(w, r)
	}
	for language, call := range recipes(t) {
		if language == "go" {
			continue
		}
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var first, last time.Time
			script(t, []http.HandlerFunc{
				func(w http.ResponseWriter, r *http.Request) { first = time.Now(); busy(w, r) },
				func(w http.ResponseWriter, r *http.Request) { last = time.Now(); answer(200, `{}`)(w, r) },
			}, call)
			require.GreaterOrEqual(t, last.Sub(first), time.Second)
		})
	}
}

// TestGoRecipeIsTheExample: the page's Go code is a part of the example that the
// package's tests execute.
func TestGoRecipeIsTheExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/clients.md")
	require.NoError(t, err)
	example, err := os.ReadFile("../../client/example_test.go")
	require.NoError(t, err)
	require.Contains(t, string(example), block(t, string(page), "go"))
}

// TestClientIsUnsettledAtItsDeadline: after a call that ended unsettled at its deadline,
// a call with the same key settles the draw.
func TestClientIsUnsettledAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := on(t, "sqlite:"+filepath.Join(t.TempDir(), "demo.db")).serve("--demo")
	proxy := servertest.StartProxy(t, s.url)
	c := &client.Client{URL: proxy.URL(), HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	r := client.Request{Pool: "demo", User: "u1", Key: client.NewKey(), Count: 2}

	proxy.HoldAnswers()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := c.Draw(ctx, r)
		failed <- err
	}()
	require.Eventually(t, func() bool {
		status, _, err := s.ask("GET", "/pools/demo/draws/"+r.Key, "")
		return err == nil && status == 200
	}, commandMax, 10*time.Millisecond)
	cancel()
	open, isOpen := errors.AsType[*client.Unsettled](<-failed)
	require.True(t, isOpen && open.MayHaveHappened)

	proxy.Pass()
	made, err := c.Draw(t.Context(), r)
	require.NoError(t, err)
	require.True(t, made.Replayed)
	require.Len(t, made.Awards, 2)
	again, err := c.DrawAgain(t.Context(), "demo", r.Key)
	require.NoError(t, err)
	require.Equal(t, made, again)
	pool, err := c.Pool(t.Context(), "demo")
	require.NoError(t, err)
	require.Len(t, pool.Prizes, 3)
	_, err = c.Draw(t.Context(), client.Request{Pool: "demo", User: "another", Key: r.Key})
	require.ErrorIs(t, err, client.KeyReused)
	_, err = c.Draw(t.Context(), client.Request{Pool: "demo", User: "u1", Key: `a "quoted", key\`})
	require.NoError(t, err)
	_, err = c.DrawAgain(t.Context(), "demo", `a "quoted", key\`)
	require.NoError(t, err)
}

// TestGoClientIsRequiredFromAClone: with the commands of docs/clients.md, a module next
// to a clone requires the Go client and compiles. Without the replacement it does not.
func TestGoClientIsRequiredFromAClone(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/clients.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "```text\ngo mod edit")
	require.True(t, found)
	text, _, found = strings.Cut("go mod edit"+text, "```")
	require.True(t, found)
	clone, err := filepath.Abs("../..")
	require.NoError(t, err)
	compile := func(commands string) error {
		folder := t.TempDir()
		require.NoError(t, os.Symlink(clone, filepath.Join(folder, "drawsvc")))
		shop := filepath.Join(folder, "shop")
		require.NoError(t, os.Mkdir(shop, 0o700))
		main := "package main\n\nimport \"drawsvc/client\"\n\nfunc main() { println(client.NewKey()) }\n"
		for name, content := range map[string]string{"go.mod": "module shop\n\ngo 1.26.0\n", "main.go": main} {
			require.NoError(t, os.WriteFile(filepath.Join(shop, name), []byte(content), 0o600))
		}
		run := exec.CommandContext(t.Context(), "bash", "-ec", commands+"\ngo build -o /dev/null .")
		run.Dir = shop
		if output, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	}
	require.NoError(t, compile(text))
	require.Error(t, compile(strings.ReplaceAll(text, "-replace=drawsvc=../drawsvc", "")), "the double")
}
