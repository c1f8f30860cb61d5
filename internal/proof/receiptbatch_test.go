package proof

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// batchPlaces are the positions of the vectors' leaves: an index, and the number of
// leaves.
var batchPlaces = [][2]int{{0, 2}, {2, 3}, {4, 7}, {1023, 1024}}

// vectorDraws returns the draws of one batch of the vectors. Every third draw has two
// awards.
func vectorDraws(leaves int) (draws [][]draw.Award) {
	count := map[bool]int{false: 1, true: 2}[leaves == 3]
	for i := range leaves {
		var awards []draw.Award
		for n := range count {
			awards = append(awards, draw.Award{
				Version: int64(1000 + i*count + n), At: time.Date(2026, 3, 4, 4, 6, 7, 890_000, time.UTC), DrawID: fmt.Sprintf("b%d-%d", leaves, i),
				Ordinal: n + 1, UserID: fmt.Sprint("u", i), PrizeID: "gold", Unit: int64(1 + i*count + n),
			})
		}
		draws = append(draws, awards)
	}
	return draws
}

// signedBy returns the receipts of draws of one commit, each as JSON.
func signedBy(by *Receipts, draws [][]draw.Award, rules *draw.Rules) (signed [][]byte, err error) {
	receipts, err := by.Sign(draws, rules)
	for _, r := range receipts {
		signed = append(signed, r.AppendTo(nil))
	}
	return signed, err
}

func countingRules(t *testing.T) *draw.Rules {
	rules, err := rules.Parse([]byte(`{"limits":[{"of":"draws","max":9,"per":"day"}]}`))
	require.NoError(t, err)
	return rules
}

// TestVectorsOfBatches: receipts that are signed together are valid exactly if the file
// states so. The secrets of the pool create the valid ones again, byte for byte.
func TestVectorsOfBatches(t *testing.T) {
	all := readVectors(t).Batches
	require.GreaterOrEqual(t, len(all), 100)
	good := 0
	for i := range all {
		v := &all[i]
		shown := v.shown(t)
		err := presents(t, shown, v.Key)
		require.Equal(t, v.Good, err == nil, "%s: %v", v.What, err)
		if !v.Good {
			continue
		}
		place := batchPlaces[good]
		good++
		by, err := NewReceipts(worldOrigin, &Secrets{Salts: bytesOf(t, v.Secret), Signer: v.Signer})
		require.NoError(t, err)
		var rules *draw.Rules
		if v.Counts {
			rules = countingRules(t)
		}
		signed, err := by.signBatch(nil, vectorDraws(place[1]), rules)
		require.NoError(t, err)
		require.JSONEq(t, string(v.Receipt), string(signed[place[0]].AppendTo(nil)))
		key, err := Verifier(v.Key)
		require.NoError(t, err)
		p, err := ParsePresented(shown)
		require.NoError(t, err)
		promised, err := p.Open(key)
		require.NoError(t, err)
		for j, line := range promised.Encoded {
			leaf := tlog.RecordHash(line)
			require.Equal(t, v.Leaves[j], hex.EncodeToString(leaf[:]))
		}
		require.Len(t, v.Leaves, len(promised.Encoded))
		everyByteCounts(t, v.Receipt, shown, v.Key)
	}
	require.Len(t, batchPlaces, good)
}

// everyByteCounts changes one bit of each byte of a receipt in an answer. No such answer
// may be accepted.
func everyByteCounts(t *testing.T, receipt json.RawMessage, shown []byte, key string) {
	compact, err := json.Marshal(receipt)
	require.NoError(t, err)
	start := strings.Index(string(shown), string(compact))
	require.Positive(t, start)
	for i := range compact {
		changed := []byte(string(shown))
		changed[start+i] ^= 1 << (i % 7)
		require.Error(t, presents(t, changed, key), "byte %d: %s", i, changed)
	}
}

// TestBatchesAreTrees: batches of any size have the tree and the paths of RFC 6962,
// according to the independent package tlog. The members of a receipt are in their order.
// A batch of one receipt has no tree: that receipt has its own note.
func TestBatchesAreTrees(t *testing.T) {
	signer, vkey, err := NewKey(worldOrigin)
	require.NoError(t, err)
	by, err := NewReceipts(worldOrigin, &Secrets{Salts: NewSalts(), Signer: signer})
	require.NoError(t, err)
	key, err := Verifier(vkey)
	require.NoError(t, err)
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 33, 255, 512, 513, 1100} {
		draws := vectorDraws(n)
		signed, err := signedBy(by, draws, countingRules(t))
		require.NoError(t, err)
		require.Len(t, signed, n)
		for i, b := range signed {
			var r Receipt
			require.NoError(t, unmarshalReceipt(b, &r))
			again, err := json.Marshal(r)
			require.NoError(t, err)
			require.JSONEq(t, string(again), string(b))
			p, err := r.Open(key)
			require.NoError(t, err)
			require.NoError(t, p.Opens(draws[i][0].DrawID, draws[i][0].UserID))
			first := i / batchLeavesSigned * batchLeavesSigned
			leaves := min(n-first, batchLeavesSigned)
			if leaves == 1 {
				require.Nil(t, r.Batch)
				require.True(t, strings.HasPrefix(string(b), `{"note":"`), "%s", b)
				continue
			}
			require.Regexp(t, `^\{"text":".+","batch":\{"note":".+","index":\d+,"hashes":\[.+\]\},"salt":".+","user_salt":".+"\}$`, string(b))
			text, err := Open([]byte(r.Batch.Note), key)
			require.NoError(t, err)
			c, err := ParseCheckpoint(text)
			require.NoError(t, err)
			require.Equal(t, worldOrigin+"/receipts", c.Origin)
			require.Equal(t, int64(leaves), c.Size)
			require.Equal(t, int64(i-first), r.Batch.Index)
			var path tlog.RecordProof
			for _, h := range r.Batch.Hashes {
				parsed, err := tlog.ParseHash(h)
				require.NoError(t, err)
				path = append(path, parsed)
			}
			require.NoError(t, tlog.CheckRecord(path, c.Size, c.Root, r.Batch.Index, tlog.RecordHash([]byte(r.Text))))
		}
	}
}

// TestBatchesStayShort: for an origin of 150 bytes, a receipt of the largest batch is at
// most 700 bytes longer than the same receipt signed alone.
func TestBatchesStayShort(t *testing.T) {
	origin := strings.Repeat("a", 140) + "/" + strings.Repeat("b", 9)
	require.Len(t, origin, 150)
	signer, _, err := NewKey(origin)
	require.NoError(t, err)
	by, err := NewReceipts(origin, &Secrets{Salts: NewSalts(), Signer: signer})
	require.NoError(t, err)
	draws := vectorDraws(10_000)
	signed, err := signedBy(by, draws, nil)
	require.NoError(t, err)
	longest := 0
	for i := range draws {
		single, err := signedBy(by, draws[i:i+1], nil)
		require.NoError(t, err)
		longest = max(longest, len(signed[i])-len(single[0]))
	}
	require.LessOrEqual(t, longest, 700)
	require.Greater(t, longest, 600)
}

// TestTwoTextsOfOneDraw: two receipts of one draw with different texts show that the key
// was misused, even if the log agrees with one of them. Two receipts with the same text,
// one in each form, do not show misuse.
func TestTwoTextsOfOneDraw(t *testing.T) {
	w := simple(t)
	files := w.publishAll()
	by, err := NewReceipts(worldOrigin, &Secrets{Salts: w.salts, Signer: w.signer})
	require.NoError(t, err)
	var draws [][]draw.Award
	for _, e := range w.entries {
		if e.Award != nil && e.Award.Ordinal == 1 && len(draws) < 9 {
			draws = append(draws, []draw.Award{*e.Award})
		}
	}
	together, err := signedBy(by, draws, nil)
	require.NoError(t, err)
	single, err := signedBy(by, draws[4:5], nil)
	require.NoError(t, err)
	elsewhere := draws[4][0]
	elsewhere.Version += 100_000
	otherHistory, err := signedBy(by, [][]draw.Award{draws[3], {elsewhere}}, nil)
	require.NoError(t, err)
	says := func(receipts ...[]byte) (bool, string) {
		r := verified(t, files, VerifyOptions{Receipts: receipts})
		of := filepath.Join(t.TempDir(), "receipts")
		file := ""
		for _, b := range receipts {
			file += string(b) + "\n"
		}
		require.NoError(t, os.WriteFile(of, []byte(file), 0o600))
		code, last := secondSays(t, files, "--receipts", of)
		require.Equal(t, r.OK, code == 0, last)
		if !r.OK {
			require.Equal(t, RuleReceipt, r.Rule)
			require.True(t, strings.HasPrefix(last, fmt.Sprintf("entry %d: receipt: ", r.Entry)), last)
		}
		return r.OK, r.Detail
	}
	ok, detail := says(append([][]byte{single[0]}, together...)...)
	require.True(t, ok, detail)
	ok, _ = says(otherHistory[0])
	require.True(t, ok, "the log has it")
	ok, detail = says(together[4], otherHistory[1])
	require.False(t, ok)
	require.Contains(t, detail, "two receipts of one draw have different texts")
	ok, detail = says(otherHistory[1], single[0])
	require.False(t, ok)
	require.Contains(t, detail, "two receipts of one draw have different texts")
}
