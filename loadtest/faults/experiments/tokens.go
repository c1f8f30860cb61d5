package experiments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// tokenReplaced follows docs/configure.md: both tokens are valid for a time, the
// callers get the new one, and the old one is removed.
func tokenReplaced() Experiment {
	return Experiment{
		Name: "token replaced under load", own: true, run: func(t *trial) error { return t.replaceToken(true) },
		places: []place{{"sqlite", lockmode.ForUpdate, "", 1}, {"postgres", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.ForUpdate, "", 3}},
	}
}

// tokenAtOnce is the control: the file has only the new token from the start.
func tokenAtOnce() Cell {
	e := tokenReplaced()
	e.run, e.places = func(t *trial) error { return t.replaceToken(false) }, e.places[1:]
	return e.control("an operator, who replaces the token's entry instead of adding one")
}

type named struct{ token, entry string }

func (t *trial) newToken(name, role string) named {
	output, err := stage.Command(t.Ctx, stage.Released, "token", "new", "--name", name, "--role", role)
	t.Must(err)
	first, second, _ := strings.Cut(strings.TrimSpace(output), "\n")
	n := named{strings.TrimPrefix(first, "token: "), strings.TrimPrefix(second, "entry: ")}
	if n.token == first || n.entry == second {
		t.Fatalf("token new printed another form: %s", first)
	}
	return n
}

type tokenFile struct {
	*trial
	path string
}

func (f *tokenFile) write(entries ...named) error {
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.entry)
	}
	return stage.Replace(f.path, `{"tokens":[`+strings.Join(texts, ",")+`]}`, 0o600)
}

// knownMax is the maximum time until a changed file is used, with some grace.
const knownMax = 15 * time.Second

// await waits until every instance answers a token with a status. It sends few
// requests, since wrong tokens count as guesses.
func (f *tokenFile) await(token string, want int) error {
	for _, i := range f.Instances {
		for until := time.Now().Add(knownMax); ; time.Sleep(time.Second) {
			said, err := f.answers(f.Ctx, f.Client, i, token)
			f.Must(err)
			if said == want {
				break
			}
			if time.Now().After(until) {
				return fmt.Errorf("instance %d answers the token with %d, not %d", i.Number, said, want)
			}
		}
	}
	return nil
}

func (t *trial) answers(ctx context.Context, c *http.Client, i *stage.Instance, token string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.URL()+"/pools/main", bytes.NewReader(nil))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := c.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body) // the body is read because it is judged
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

func (f *tokenFile) begin() {
	for _, i := range f.Instances {
		f.Must(i.Stop())
		i.Args = append(i.Args, "--tokens", f.path)
		f.Must(i.Again(f.Ctx))
	}
}

// replaceToken replaces the token twice: first the instances notice it by themselves,
// then they get SIGHUP.
func (t *trial) replaceToken(both bool) error {
	f := &tokenFile{t, filepath.Join(t.Site.TempDir(), "tokens.json")}
	old := t.newToken("shop", "draw")
	t.Must(f.write(old))
	f.begin()
	t.Present(old.token)
	replaced := 0
	t.Must(t.UnderLoad(func() error {
		for _, hangUp := range []bool{false, true} {
			next := t.newToken("shop", "draw")
			if both {
				f.handOver(old, next, hangUp)
			} else {
				f.swap(next)
			}
			replaced++
			old = next
			t.Sleep(500, 1000)
			if !both {
				break
			}
		}
		return nil
	}))
	t.Note("%d tokens replaced", replaced)
	t.noneRefused()
	return nil
}

func (f *tokenFile) handOver(old, next named, hangUp bool) {
	change := func(entries ...named) error {
		err := f.write(entries...)
		for _, i := range f.Instances {
			if hangUp {
				i.Signal(syscall.SIGHUP)
			}
		}
		return err
	}
	f.Must(errors.Join(change(old, next), f.await(next.token, http.StatusOK)))
	f.Present(next.token)
	time.Sleep(f.Limit() + stage.Grace) // requests under way have the old token
	f.Must(change(next))
	f.Must(f.await(old.token, http.StatusUnauthorized))
}

// swap replaces the callers' token in the file, and only then gives the callers the new
// token.
func (f *tokenFile) swap(next named) {
	f.Must(f.write(next))
	for _, i := range f.Instances {
		i.Signal(syscall.SIGHUP)
	}
	f.Sleep(1000, 1500)
	f.Present(next.token)
}

// noneRefused demands that no client was refused for its token.
func (t *trial) noneRefused() {
	t.nobodySaw(func(o *history.Op) bool {
		return slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, o.Status)
	})
}
