package proof

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// odd returns values of unexpected types.
func odd() jsontext.Value {
	all := []string{
		`null`, `true`, `0`, `-1`, `1`, `2`, `7`, `1000000000000`, `9223372036854775807`, `9223372036854775808`, `1.5`, `1e3`, `""`, `"x"`, `"gold"`, `"none"`,
		`"silver"`, `"1/2"`, `"5.00"`, `"day"`, `"+1h"`, `"UTC"`, `"a b"`, `"é\u0007"`, `"V1DZb5-2lRII4pPAKMFIQQ"`, `[]`, `{}`, `["gold"]`, `{"of":1}`, `"pause"`, `"rules"`,
		`{"win":"1/2","fallback":"none"}`, `{"limits":[{"of":"draws","max":1}]}`, `{"odds":{"of":9,"prizes":{"gold":9,"silver":0,"pin":0}},"fallback":"none"}`,
	}
	return jsontext.Value(all[rand.IntN(len(all))]) //nolint:gosec // any will do
}

// parts returns the members of an object with their names, or the elements of a list.
func parts(v jsontext.Value) (all [][2]string) {
	in := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = in.ReadToken()
	for in.PeekKind() != '}' && in.PeekKind() != ']' {
		var name jsontext.Value
		if v.Kind() == '{' {
			name, _ = in.ReadValue()
			name = append(bytes.Clone(name), ':')
		}
		value, err := in.ReadValue()
		if err != nil {
			return nil
		}
		all = append(all, [2]string{string(name), string(value)})
	}
	return all
}

// mangled returns a JSON value with one change at a random place in it.
func mangled(v jsontext.Value) jsontext.Value {
	all := parts(v)
	if v.Kind() != '{' && v.Kind() != '[' || len(all) == 0 {
		return odd()
	}
	at := rand.IntN(len(all)) //nolint:gosec // any will do
	switch rand.IntN(9) {     //nolint:gosec // any will do
	case 0:
		all = slices.Delete(all, at, at+1)
	case 1:
		all = slices.Insert(all, at, all[at])
	case 2:
		other := rand.IntN(len(all)) //nolint:gosec // any will do
		all[at], all[other] = all[other], all[at]
	case 3:
		all[at][1] = string(odd())
	default:
		all[at][1] = string(mangled(jsontext.Value(all[at][1])))
	}
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p[0] + p[1]
	}
	ends := map[jsontext.Kind]string{'{': "{}", '[': "[]"}[v.Kind()]
	return jsontext.Value(ends[:1] + strings.Join(texts, ",") + ends[1:])
}

// hostile returns a log in which one line is mangled, dropped, repeated or moved.
func hostile(lines []string) []string {
	at := rand.IntN(len(lines)) //nolint:gosec // any will do
	if rand.IntN(2) == 0 {      //nolint:gosec // most lines are awards
		for !strings.Contains(lines[at], `"kind":"rules"`) && !strings.Contains(lines[at], `"kind":"stock"`) {
			at = (at + 1) % len(lines)
		}
	}
	line := lines[at]
	switch rand.IntN(8) { //nolint:gosec // any will do
	case 0:
		lines = slices.Delete(lines, at, at+1)
	case 1:
		lines = slices.Insert(lines, at, line)
	case 2:
		lines = slices.Insert(slices.Delete(lines, at, at+1), rand.IntN(len(lines)), line) //nolint:gosec // any will do
	default:
		lines[at] = string(mangled(jsontext.Value(strings.TrimSuffix(line, "\n")))) + "\n"
	}
	if rand.IntN(5) > 0 { //nolint:gosec // else the order shows it
		for i := range lines {
			if _, rest, found := strings.Cut(lines[i], ","); found && strings.HasPrefix(lines[i], `{"v":`) {
				lines[i] = fmt.Sprintf(`{"v":%d,%s`, i+1, rest)
			}
		}
	}
	return lines
}

// hostileFiles returns the files of an operator who mangles the log and signs everything
// again.
func hostileFiles(w *world, log []byte) fstest.MapFS {
	lines := hostile(slices.Collect(strings.Lines(string(log))))
	for i, line := range lines {
		if strings.Contains(line, `"kind":"commit"`) {
			was := w.commitment.hex()
			own := *w.commitment
			tree := treeOf([]byte(strings.Join(lines[:i], "")))
			own.Size, own.Root = int64(i), tree.Root()
			w.commitment = &own
			hash := own.Hash()
			lines[i] = strings.Replace(line, was, hex.EncodeToString(hash[:]), 1)
			break
		}
	}
	return w.files([]byte(strings.Join(lines, "")), nil)
}

// TestHostileLogs: whatever an operator writes to the log, both verifiers report the same
// at the same entry, and neither crashes.
func TestHostileLogs(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, "python3", "python3")
	w := lived(t, 120, 100)
	log := w.publishAll()["log.jsonl"].Data
	committed := w.commitment
	root, want := t.TempDir(), map[string]string{}
	for i := range few(150, 5000) {
		w.commitment = committed
		files := hostileFiles(w, log)
		name := fmt.Sprintf("%05d", i)
		r := verified(t, files, VerifyOptions{})
		want[name] = fmt.Sprintf("%d %s", r.Entry, r.Rule)
		dir := filepath.Join(root, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		for file, f := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), f.Data, 0o600))
		}
	}
	out, err := exec.CommandContext(t.Context(), "python3", "-c", fmt.Sprintf(`
import os, sys
sys.path.insert(0, "../../docs/verify")
sys.dont_write_bytecode = True
import verify
root = %q
for name in sorted(os.listdir(root)):
    try:
        verify.Verifier(os.path.join(root, name)).run()
        print(name, 0, "")
    except verify.Finding as e:
        print(name, e.entry, e.rule)
`, root)).CombinedOutput()
	require.NoError(t, err, string(out))
	said := 0
	for line := range strings.Lines(string(out)) {
		name, says, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		said++
		if want[name] != says {
			detail := verified(t, filesOf(t, filepath.Join(root, name)), VerifyOptions{}).Detail
			_, last := second(t, filepath.Join(root, name))
			t.Errorf("%s: in Go %s: %s; in Python %s", name, want[name], detail, last)
		}
	}
	require.Len(t, want, said)
}

func filesOf(t *testing.T, dir string) fstest.MapFS {
	files := fstest.MapFS{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = &fstest.MapFile{Data: b}
	}
	return files
}

// TestPackedLog: a packed log is verified without unpacking it first. If it is cut off,
// the verifier reports that after the lines that it could read.
func TestPackedLog(t *testing.T) {
	t.Parallel()
	files := simple(t).publishAll()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(files["log.jsonl"].Data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	delete(files, "log.jsonl")
	for _, tc := range []struct {
		name   string
		packed []byte
		rule   string
	}{
		{"whole", packed.Bytes(), ""},
		{"cut off", packed.Bytes()[:packed.Len()/2], RuleFile},
		{"with more behind", append(bytes.Clone(packed.Bytes()), "more"...), RuleFile},
		{"not packed", []byte("{}\n"), RuleFile},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files["log.jsonl.gz"] = &fstest.MapFile{Data: tc.packed}
			r := verified(t, files, VerifyOptions{})
			require.Equal(t, tc.rule, r.Rule, r.Detail)
			code, last := secondSays(t, files)
			if tc.rule == "" {
				require.Equal(t, 0, code, last)
				return
			}
			require.Equal(t, 3, code, last)
			require.Contains(t, last, ": "+tc.rule+": ")
		})
	}
}
