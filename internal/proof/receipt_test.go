package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// receipts returns the receipts of all draws of a world, by the draw's name.
func (w *world) receipts() map[string]Receipt {
	w.t.Helper()
	by, err := NewReceipts(worldOrigin, &Secrets{Salts: w.salts, Signer: w.signer})
	require.NoError(w.t, err)
	all := map[string]Receipt{}
	var parsed *draw.Rules
	for i := 0; i < len(w.entries); i++ {
		e := w.entries[i]
		if e.Change != nil && e.Change.What == draw.WhatRules {
			parsed, _, err = rules.Of(e.Change)
			require.NoError(w.t, err)
		}
		if e.Award == nil {
			continue
		}
		awards := []draw.Award{*e.Award}
		for ; i+1 < len(w.entries) && w.entries[i+1].Award != nil && w.entries[i+1].Award.DrawID == e.Award.DrawID; i++ {
			awards = append(awards, *w.entries[i+1].Award)
		}
		all[e.Award.DrawID], err = by.Of(awards, parsed)
		require.NoError(w.t, err)
	}
	return all
}

// userOf returns the user of a draw.
func (w *world) userOf(drawID string) string {
	for _, e := range w.entries {
		if e.Award != nil && e.Award.DrawID == drawID {
			return e.Award.UserID
		}
	}
	return ""
}

func asJSON(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// TestReceiptsAreTheLog: in a pool with a long history, the receipts of all draws contain
// the lines of the log, byte for byte. Their salts match the tags of their names, and
// both verifiers accept them.
func TestReceiptsAreTheLog(t *testing.T) {
	w := lived(t, 600, 100)
	files := w.publishAll()
	key, err := Verifier(w.key)
	require.NoError(t, err)
	promised := map[int64][]byte{}
	var all [][]byte
	counted := 0
	for name, r := range w.receipts() {
		p, err := r.Open(key)
		require.NoError(t, err)
		require.NoError(t, p.Opens(name, w.userOf(name)))
		require.Error(t, p.Opens("other", ""))
		require.Error(t, p.Opens("", "other"))
		for i, l := range p.Lines {
			promised[l.Version] = p.Encoded[i]
		}
		if r.UserSalt != "" {
			counted++
		}
		all = append(all, asJSON(t, r))
	}
	awards := 0
	for b := range bytes.Lines(files["log.jsonl"].Data) {
		l, err := ParseLine(b)
		require.NoError(t, err)
		if l.Kind == KindAward {
			awards++
			require.Equal(t, string(b), string(promised[l.Version]))
		}
	}
	require.Len(t, promised, awards)
	require.Positive(t, counted)
	require.Less(t, counted, len(all), "some draws were made under rules that count nobody")
	require.True(t, verified(t, files, VerifyOptions{Receipts: all}).OK)
	of := filepath.Join(t.TempDir(), "receipts")
	require.NoError(t, os.WriteFile(of, bytes.Join(all[:40], []byte("\n")), 0o600))
	code, last := secondSays(t, files, "--receipts", of)
	require.Equal(t, 0, code, last)
}

// TestReceiptsCatch: the files alone do not reveal swapped owners, or draws that were
// dropped or cut off. The receipt of an affected user reveals them, the receipt of
// another user does not.
func TestReceiptsCatch(t *testing.T) {
	w := simple(t)
	honest := w.publishAll()
	log := honest["log.jsonl"].Data
	receipts := w.receipts()
	for _, a := range attacks(w) {
		if !a.passes {
			continue
		}
		changed := edited(t, log, func(all []*Line) []*Line { return a.edit(all, 99) })
		files := w.files(changed, nil)
		lost, untouched := asJSON(t, receipts["d99"]), asJSON(t, receipts["d5"])
		require.True(t, verified(t, files, VerifyOptions{Receipts: [][]byte{untouched}}).OK, a.name)
		r := verified(t, files, VerifyOptions{Receipts: [][]byte{untouched, lost}})
		require.Equal(t, RuleReceipt, r.Rule, "%s: %s", a.name, r.Detail)
		key, err := Verifier(w.key)
		require.NoError(t, err)
		p, err := new(receipts["d99"]).Open(key)
		require.NoError(t, err)
		require.Equal(t, p.Lines[0].Version, r.Entry, a.name)
		of := filepath.Join(t.TempDir(), "receipts")
		require.NoError(t, os.WriteFile(of, append(append(untouched, '\n'), lost...), 0o600))
		code, last := secondSays(t, files, "--receipts", of)
		require.Equal(t, 3, code, "%s: %s", a.name, last)
		require.True(t, strings.HasPrefix(last, fmt.Sprintf("entry %d: receipt: ", r.Entry)), "%s: %s", a.name, last)
	}
}

// TestProofsAreKept: a receipt with its proof, written over several lines, reveals a log
// that contradicts the proof's checkpoint. The contradiction may even be after the draw.
func TestProofsAreKept(t *testing.T) {
	w := simple(t)
	honest := w.publishAll()
	shown, err := json.MarshalIndent(presented(t, w, "d5", 1), "", "  ")
	require.NoError(t, err)
	of := filepath.Join(t.TempDir(), "answer.json")
	require.NoError(t, os.WriteFile(of, shown, 0o600))
	require.True(t, verified(t, honest, VerifyOptions{Receipts: SplitReceipts(shown)}).OK)
	code, last := secondSays(t, honest, "--receipts", of)
	require.Equal(t, 0, code, last)
	for _, a := range attacks(w) {
		if !a.passes {
			continue
		}
		files := w.files(edited(t, honest["log.jsonl"].Data, func(all []*Line) []*Line { return a.edit(all, 99) }), nil)
		r := verified(t, files, VerifyOptions{Receipts: SplitReceipts(shown)})
		require.Equal(t, RuleKept, r.Rule, "%s: %s", a.name, r.Detail)
		code, last := secondSays(t, files, "--receipts", of)
		require.Equal(t, 3, code, "%s: %s", a.name, last)
		require.True(t, strings.HasPrefix(last, fmt.Sprintf("entry %d: kept: ", r.Entry)), "%s: %s", a.name, last)
	}
}

// presented returns a draw's receipt with its proof. The draw has count awards.
func presented(t *testing.T, w *world, name string, count int) map[string]any {
	receipt := w.receipts()[name]
	key, err := Verifier(w.key)
	require.NoError(t, err)
	p, err := receipt.Open(key)
	require.NoError(t, err)
	var lines [][]byte
	for b := range bytes.Lines(w.log()) {
		lines = append(lines, b)
	}
	index := p.Lines[0].Version - 1
	hashes, err := Prove(int64(len(lines)), index, index+int64(count), subtreeOf(lines))
	require.NoError(t, err)
	return map[string]any{
		"receipt": receipt,
		"proof":   Inclusion{Checkpoint: string(w.check()), Index: index, Hashes: hashes},
	}
}

// TestPresentedReceiptsAreCheckedInEveryPart: both verifiers accept the unchanged
// receipt, answer and proof. They refuse them if any part differs.
func TestPresentedReceiptsAreCheckedInEveryPart(t *testing.T) {
	w := newWorld(t)
	w.prize("silver", 900, "5.00")
	w.rules(`{"limits":[{"of":"draws","max":300,"per":"day"}]}`)
	w.commit(4, 100)
	w.state(draw.StateOpen)
	for i := range 20 {
		w.draw(fmt.Sprintf("d%d", i), "ann <é>", 1+i%4)
	}
	good := presented(t, w, "d7", 4)
	receipt := good["receipt"].(Receipt)
	proof := good["proof"].(Inclusion)
	of := func(change func(r *Receipt, p *Inclusion)) map[string]any {
		r, p := receipt, proof
		p.Hashes = append([]string{}, proof.Hashes...)
		change(&r, &p)
		return map[string]any{"receipt": r, "proof": p}
	}
	awards := []map[string]any{}
	for _, e := range w.entries {
		if e.Award != nil && e.Award.DrawID == "d7" {
			awards = append(awards, map[string]any{"prize": e.Award.PrizeID, "unit": e.Award.Unit, "version": e.Award.Version, "at": e.Award.At.Format(draw.TimeFormat)})
		}
	}
	answer := map[string]any{"draw": "d7", "pool": "spring", "user": "ann <é>", "replayed": false, "awards": awards, "receipt": receipt}
	liar := map[string]any{"draw": "d7", "user": "ann <é>", "receipt": receipt, "awards": append([]map[string]any{{"prize": "gold", "unit": 1, "version": 9, "at": "2026-01-01T00:00:00.000000Z"}}, awards[1:]...)}
	foreign := newWorld(t)
	other := map[bool]string{true: receipt.Salt, false: receipt.UserSalt}
	for name, tc := range map[string]struct {
		file any
		ok   bool
	}{
		"the receipt alone":          {receipt, true},
		"the answer":                 {answer, true},
		"the receipt with its proof": {good, true},
		"awards of another prize":    {liar, false},
		"another user":               {map[string]any{"draw": "d7", "user": "bob", "receipt": receipt}, false},
		"another draw":               {map[string]any{"draw": "d8", "user": "ann <é>", "receipt": receipt}, false},
		"no receipt":                 {map[string]any{"draw": "d7"}, false},
		"a draw of no text":          {map[string]any{"draw": 7, "receipt": receipt}, false},
		"a user of no text":          {map[string]any{"user": []string{}, "receipt": receipt}, false},
		"a draw of half a character": {map[string]any{"draw": json.RawMessage(`"\ud800"`), "receipt": receipt}, false},
		"half a checkpoint":          {map[string]any{"receipt": receipt, "proof": map[string]any{"checkpoint": json.RawMessage(`"\ud800"`), "index": 1, "hashes": []string{}}}, false},
		"a proof of null":            {map[string]any{"receipt": receipt, "proof": nil}, false},
		"a member too many":          {map[string]any{"receipt": map[string]any{"note": receipt.Note, "salt": receipt.Salt, "more": 1}}, false},
		"a line changed":             {of(func(r *Receipt, _ *Inclusion) { r.Note = strings.Replace(r.Note, `"unit":`, `"unit":1`, 1) }), false},
		"a line missing": {of(func(r *Receipt, _ *Inclusion) {
			r.Note = strings.Join(append(strings.SplitAfter(r.Note, "\n")[:1], strings.SplitAfter(r.Note, "\n")[2:]...), "")
		}), false},
		"a short salt":              {of(func(r *Receipt, _ *Inclusion) { r.Salt = r.Salt[:40] }), false},
		"a padded salt":             {of(func(r *Receipt, _ *Inclusion) { r.UserSalt += "=" }), false},
		"a hash of another tree":    {of(func(_ *Receipt, p *Inclusion) { p.Hashes[0] = p.Hashes[1] }), false},
		"a hash too few":            {of(func(_ *Receipt, p *Inclusion) { p.Hashes = p.Hashes[1:] }), false},
		"another place":             {of(func(_ *Receipt, p *Inclusion) { p.Index++ }), false},
		"the checkpoint of another": {of(func(_ *Receipt, p *Inclusion) { p.Checkpoint = string(foreign.check()) }), false},
		"salts of one another":      {map[string]any{"draw": "d7", "user": "ann <é>", "receipt": Receipt{Note: receipt.Note, Salt: other[false], UserSalt: other[true]}}, false},
	} {
		b := asJSON(t, tc.file)
		err := presents(t, b, w.key)
		require.Equal(t, tc.ok, err == nil, "%s: %v", name, err)
		path := filepath.Join(t.TempDir(), "receipt")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		code, last := second(t, "--receipt", path, "--key", w.key)
		require.Equal(t, map[bool]int{true: 0, false: 3}[tc.ok], code, "%s, in Python: %s", name, last)
	}
	code, last := second(t, "--receipt", filepath.Join(t.TempDir(), "none"), "--key", w.key)
	require.NotEqual(t, 0, code, last)
}

func presents(t *testing.T, b []byte, vkey string) error {
	key, err := Verifier(vkey)
	require.NoError(t, err)
	p, err := ParsePresented(b)
	if err != nil {
		return err
	}
	promised, err := p.Open(key)
	if err == nil && p.Proof != nil {
		_, err = promised.Includes(p.Proof, key)
	}
	return err
}

// BenchmarkReceipt measures the cost of a receipt that is signed alone, and of a
// receipt of a batch.
func BenchmarkReceipt(b *testing.B) {
	signer, _, err := NewKey(worldOrigin)
	require.NoError(b, err)
	by, err := NewReceipts(worldOrigin, &Secrets{Salts: NewSalts(), Signer: signer})
	require.NoError(b, err)
	awards := []draw.Award{{Version: 1234, DrawID: "0193a1c8-0000-7000-8000-000000000000", Ordinal: 1, UserID: "u1", PrizeID: "gold", Unit: 17}}
	var answer []byte
	for _, together := range []int{1, 2, 16, 256} {
		draws := slices.Repeat([][]draw.Award{awards}, together)
		b.Run(fmt.Sprint(together), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				signed, err := by.Sign(draws, nil)
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range signed {
					answer = r.AppendTo(answer[:0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*together), "ns/receipt")
		})
	}
}
