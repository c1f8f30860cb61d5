package cli

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/hook"
	"drawsvc/internal/servertest"
)

// receiverTools is the folder of the packages that the receiver in JavaScript needs.
const receiverTools = "../../tools/receivers"

// receiverKind is how a receiver of docs/webhooks.md runs. The page's block is put into
// a file of testdata/receivers, which adds the parts that the block leaves out.
type receiverKind struct {
	language, file string
	run            func(file, listen string) []string
	// verifies is the code with which the block verifies a message. blind replaces it in the
	// broken double.
	verifies, blind string
}

func receiverKinds() []receiverKind {
	return []receiverKind{
		{"go", "receiver.go", func(file, _ string) []string { return []string{strings.TrimSuffix(file, ".go")} },
			`client.VerifyWebhook(secret, r.Header, body) != nil`, `client.VerifyWebhook == nil || secret == ""`},
		{"js", "receiver.mjs", func(file, _ string) []string { return []string{"node", file} },
			`new Webhook(secret).verify(req.body.toString(), req.headers)`, `JSON.parse(req.body.toString())`},
		{"py", "receiver.py", func(file, _ string) []string { return []string{"/usr/bin/python3", file} },
			`Webhook(secret).verify(request.get_data(), dict(request.headers))`, `request.get_json()`},
		{"php", "receiver.php", func(file, listen string) []string { return []string{"php", "-S", listen, file} },
			`$webhook->verify(file_get_contents('php://input'), array_change_key_case(getallheaders()))`, `json_decode(file_get_contents('php://input'), true)`},
	}
}

// receiverBlock returns the block in a language from the page's section about receivers.
func receiverBlock(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/webhooks.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Receivers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(section, -1)
	require.Len(t, found, 1, language)
	return found[0][1]
}

// standardWebhooks is the folder of the standard's own libraries.
func standardWebhooks(t *testing.T) string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/standard-webhooks/standard-webhooks/libraries").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(folder))
}

// pageReceiver is a running receiver.
type pageReceiver struct {
	t                  *testing.T
	url, saved, output string
}

// receive runs a receiver with a block of the page.
func (k *receiverKind) receive(t *testing.T, block, secret string) *pageReceiver {
	t.Helper()
	frame, err := os.ReadFile(filepath.Join("testdata/receivers", k.file))
	require.NoError(t, err)
	folder, listen := t.TempDir(), servertest.FreeAddr(t)
	file := filepath.Join(folder, k.file)
	text := regexp.MustCompile(`(?m)^\t?(//|#)BLOCK$`).ReplaceAllLiteralString(string(frame), block)
	require.NotEqual(t, string(frame), text)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	if k.language == "js" {
		modules, err := filepath.Abs(filepath.Join(receiverTools, "node_modules"))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(modules, filepath.Join(folder, "node_modules")))
	}
	if k.language == "go" {
		output, err := exec.CommandContext(t.Context(), "go", "build", "-o", strings.TrimSuffix(file, ".go"), file).CombinedOutput() //nolint:gosec // the test's own file
		require.NoError(t, err, string(output))
	}
	r := &pageReceiver{t: t, url: "http://" + listen + "/draws", saved: filepath.Join(folder, "saved"), output: filepath.Join(folder, "output")}
	log, err := os.Create(r.output)
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	args, libraries := k.run(file, listen), standardWebhooks(t)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) //nolint:gosec // one of those above
	cmd.Env = append(os.Environ(), "SECRET="+secret, "LISTEN="+listen, "SAVED="+r.saved,
		"STANDARD_WEBHOOKS="+libraries, "PYTHONPATH="+filepath.Join(libraries, "python"), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // its context has ended
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", listen)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 2*time.Minute, 20*time.Millisecond, "%s does not listen", k.language)
	return r
}

// send sends a message that was signed at a time, and returns the status of the answer.
func (r *pageReceiver) send(id string, at time.Time, signed, sent []byte, secrets ...[]byte) int {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url, bytes.NewReader(sent))
	require.NoError(r.t, err)
	request.Header.Set("Content-Type", "application/json")
	require.NoError(r.t, hook.SetHeaders(request.Header, id, at, signed, secrets...))
	answer, err := http.DefaultClient.Do(request)
	require.NoError(r.t, err)
	require.NoError(r.t, answer.Body.Close())
	return answer.StatusCode
}

// judge returns the faults of a receiver of messages. The receiver must accept messages
// that are signed with its secret, also while the secret is replaced, and store their
// events. It must refuse changed, old and foreign messages.
func (r *pageReceiver) judge(secret, other []byte) (faults []string) {
	message := func(n int) []byte {
		return fmt.Appendf(nil, `{"type":"pool.events","timestamp":"2026-11-23T20:46:20.230667Z","data":{"pool":"spring","events":[{"id":"e%d","type":"award.won","name":"Grüße"}]}}`, n)
	}
	now, changed := time.Now(), bytes.Replace(message(4), []byte("won"), []byte("wan"), 1)
	for _, c := range []struct {
		name string
		at   time.Time
		sent []byte
		by   [][]byte
		want int
	}{
		{"a message", now, message(0), [][]byte{secret}, 204},
		{"a new secret and this one", now, message(1), [][]byte{other, secret}, 204},
		{"this secret and the former one", now, message(2), [][]byte{secret, other}, 204},
		{"another secret", now, message(3), [][]byte{other}, 401},
		{"a changed byte", now, changed, [][]byte{secret}, 401},
		{"an old message", now.Add(-10 * time.Minute), message(5), [][]byte{secret}, 401},
	} {
		signed := c.sent
		if c.name == "a changed byte" {
			signed = message(4)
		}
		if status := r.send("msg_"+c.name[:1], c.at, signed, c.sent, c.by...); status != c.want {
			faults = append(faults, fmt.Sprintf("%s is answered %d", c.name, status))
		}
	}
	saved, err := os.ReadFile(r.saved)
	require.NoError(r.t, err)
	if string(saved) != "e0\ne1\ne2\n" {
		faults = append(faults, fmt.Sprintf("these events are stored: %q", saved))
	}
	return faults
}

// TestPageReceivers: the receivers of docs/webhooks.md verify messages with the
// standard's own libraries. The same receivers without the verification are rejected.
func TestPageReceivers(t *testing.T) {
	servertest.NeedPrograms(t, "npm, node, php-cli and python3-flask", "go", "npm", "node", "php", "/usr/bin/python3")
	t.Parallel()
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = receiverTools
	output, err := install.CombinedOutput()
	require.NoError(t, err, string(output))
	secret, other := hook.NewSecret(), hook.NewSecret()
	for _, k := range receiverKinds() {
		block := receiverBlock(t, k.language)
		require.Contains(t, block, k.verifies)
		for name, text := range map[string]string{"": block, " that verifies nothing": strings.Replace(block, k.verifies, k.blind, 1)} {
			t.Run(k.language+name, func(t *testing.T) {
				t.Parallel()
				r := k.receive(t, text, hook.ShowSecret(secret))
				faults := r.judge(secret, other)
				if name == "" {
					said, err := os.ReadFile(r.output)
					require.NoError(t, err)
					require.Empty(t, faults, string(said))
				} else {
					require.Contains(t, strings.Join(faults, "; "), "a changed byte is answered 204")
				}
			})
		}
	}
}
