package experiments

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// callUntil makes an operator's call until an instance answers with the status that is
// wanted, or another final one.
func (t *trial) callUntil(method, path, body string, want int) error {
	for n := 0; ; n++ {
		text, status, err := t.callAt(t.Instances[n%len(t.Instances)].URL(), harness.AdminToken, method, path, body)
		switch {
		case t.Ctx.Err() != nil:
			return t.Ctx.Err()
		case err == nil && status == want:
			return nil
		case n > 0 && (strings.Contains(string(text), `-exists"`) || strings.Contains(string(text), `"pool-committed"`)): // by a call whose answer was lost
			return nil
		case err == nil && status < 500:
			return fmt.Errorf("%s %s %s: %d %.300s", method, path, body, status, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (t *trial) callAt(at, token, method, path, body string, headers ...string) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(t.Ctx, 2*time.Minute) // a log has a million lines
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, at+path, io.NopCloser(strings.NewReader(body))) // which net/http does not send again by itself
	if err != nil {
		return nil, 0, err
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	for k := 0; k+1 < len(headers); k += 2 {
		request.Header.Set(headers[k], headers[k+1])
	}
	response, err := t.Client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return text, response.StatusCode, err
}

// publishProof closes and reveals a committed pool, and returns a folder with what is
// published of it.
func (t *trial) publishProof(pool string) (folder string, err error) {
	path := "/admin/pools/" + pool
	if err := t.callUntil("PATCH", path, `{"state":"closed"}`, http.StatusOK); err != nil {
		return "", err
	}
	begun := time.Now()
	if err := t.callUntil("POST", path+"/reveal", "", http.StatusOK); err != nil {
		return "", err
	}
	t.Note("%s: revealed in %.1f s", pool, time.Since(begun).Seconds())
	folder = t.Site.TempDir()
	for name, file := range map[string]string{"key": "key", "commitment": "commitment", "checkpoint": "checkpoint", "reveal": "reveal", "log": "log.jsonl"} {
		if err := stage.Within(t.Ctx, client.SettleMax, func() error { // a 503 says nothing of a proof
			text, status, err := t.callAt(t.Instances[0].URL(), harness.DrawToken, "GET", "/pools/"+pool+"/proof/"+name, "")
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("proof/%s: %d", name, status)
			}
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(folder, file), text, 0o600)
		}); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// bothVerify has both verifiers recompute what is published, which has that many
// awards, and holds it against further files that the arguments name.
func (t *trial) bothVerify(folder string, awards int64, args ...string) {
	for _, verifier := range [][]string{{filepath.Join(stage.Bin, stage.Released), "verify"}, {"python3", "docs/verify/verify.py"}} {
		begun := time.Now()
		command := append(append(verifier[1:], folder), args...)
		output, err := exec.CommandContext(t.Ctx, verifier[0], command...).CombinedOutput() //nolint:gosec // its own programs
		said := strings.TrimSpace(string(output))
		t.Note("%s: %s, in %.1f s", filepath.Base(verifier[len(verifier)-1]), said, time.Since(begun).Seconds())
		if err != nil {
			t.Verdict.Say(history.Fault, "%s: %v: %s", verifier, err, said)
		}
		if want := fmt.Sprintf(" %d awards replayed ", awards); !strings.Contains(said, want) {
			t.Verdict.Say(history.Fault, "of%sthe log has: %s", want, said)
		}
	}
}
