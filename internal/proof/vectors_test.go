package proof

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// vectorsFile is in the folder of the specification. The Python program checks it too.
const vectorsFile = "../../docs/verify/vectors.json"

type vectors struct {
	Numbers []struct {
		Key            string
		Version        int64
		Below, Numbers []string
	}
	Keys []struct {
		Seed, Commitment, Beacon, Key string
		Epoch                         int64
	}
	Chains []struct {
		Seed, Anchor string
		Place        int64
	}
	Rounds []struct {
		Beacon, Signature, Mixed string
		Round                    int64
		Good                     bool
	}
	Announced []struct {
		Beacon, Comes, At string
		Round             int64
		Good              bool
	}
	Epochs []struct{ Committed, Length, Version, Epoch int64 }
	Trees  []struct {
		Leaves []string
		Root   string
	}
	Commitments    []struct{ Text, Hash string }
	Lines, Refused []string
	Windows        []struct{ Zone, Per, At, Start string }
	Notes          []struct {
		Key, Note, Text string
		Good            bool
	}
	Cosignatures []struct {
		Key, Note string
		Time      int64
		Good      bool
	}
	Receipts []receiptVector
	Batches  []receiptVector // receipts that are signed together
}

func readVectors(t *testing.T) (v vectors) {
	b, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &v))
	return v
}

func bytesOf(t *testing.T, s string) (b [32]byte) {
	n, err := hex.Decode(b[:], []byte(s))
	require.NoError(t, err)
	require.Equal(t, len(b), n)
	return b
}

func whole(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}

// TestVectors: numbers, keys, chains, epochs, trees, commitments and notes equal those in
// the vectors, byte for byte.
func TestVectors(t *testing.T) {
	v := readVectors(t)
	require.GreaterOrEqual(t, len(v.Numbers), 20)
	for _, n := range v.Numbers {
		var keyed urn.Keyed
		keyed.SetKey(bytesOf(t, n.Key))
		numbers := keyed.Of(n.Version)
		for i, limit := range n.Below {
			require.Equal(t, whole(t, n.Numbers[i]), numbers.Below(whole(t, limit)), "version %d, number %d", n.Version, i)
		}
	}
	for _, k := range v.Keys {
		require.Equal(t, bytesOf(t, k.Key), Key(bytesOf(t, k.Seed), bytesOf(t, k.Commitment), k.Epoch, bytesOf(t, k.Beacon)))
	}
	for _, c := range v.Chains {
		require.Equal(t, Seed(bytesOf(t, c.Anchor)), Seed(bytesOf(t, c.Seed)).Before(c.Place))
	}
	for _, e := range v.Epochs {
		require.Equal(t, e.Epoch, (&Commitment{EpochLength: e.Length}).Epoch(e.Committed, e.Version))
	}
	for _, tc := range v.Trees {
		var tree Tree
		for _, leaf := range tc.Leaves {
			tree.Add([]byte(leaf))
		}
		require.Equal(t, tlog.Hash(bytesOf(t, tc.Root)), tree.Root())
	}
	for _, c := range v.Commitments {
		parsed, err := ParseCommitment(c.Text)
		require.NoError(t, err)
		require.Equal(t, bytesOf(t, c.Hash), parsed.Hash())
	}
	for i, n := range v.Notes {
		key, err := Verifier(n.Key)
		text := ""
		if err == nil {
			text, err = Open([]byte(n.Note), key)
		}
		require.Equal(t, n.Good, err == nil && text == n.Text, "note %d: %v", i, err)
	}
	for i, c := range v.Cosignatures {
		w, err := ParseWitness(c.Key)
		require.NoError(t, err)
		text, _, _ := strings.Cut(c.Note, "\n\n")
		at, ok, err := w.Cosigned(text+"\n", Signatures([]byte(c.Note)))
		require.Equal(t, c.Good, err == nil, "cosignature %d: %v", i, err)
		require.Equal(t, c.Time > 0, ok, "cosignature %d", i)
		require.True(t, !ok || at.Unix() == c.Time, "cosignature %d", i)
	}
}

// TestVectorsOfRounds: rounds are valid, and come at the times, as the file states.
func TestVectorsOfRounds(t *testing.T) {
	v := readVectors(t)
	require.GreaterOrEqual(t, len(v.Rounds), 20)
	for i, r := range v.Rounds {
		b, err := ParseBeacon(r.Beacon)
		require.NoError(t, err)
		mixed, err := b.Mixed(draw.Round{Number: r.Round, Signature: r.Signature})
		require.Equal(t, r.Good, err == nil, "round vector %d: %v", i, err)
		if r.Good {
			require.Equal(t, bytesOf(t, r.Mixed), mixed)
		}
	}
	for _, r := range v.Announced {
		b, err := ParseBeacon(r.Beacon)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339Nano, r.At)
		require.NoError(t, err)
		require.Equal(t, r.Comes, b.At(r.Round).Format("2006-01-02T15:04:05-07:00"))
		require.Equal(t, r.Good, b.Announces(r.Round, at), "round %d at %s", r.Round, r.At)
	}
}

// TestVectorsOfLines: canonical lines have the same bytes when they are written again.
// All other lines are refused.
func TestVectorsOfLines(t *testing.T) {
	v := readVectors(t)
	require.GreaterOrEqual(t, len(v.Refused), 50)
	for _, line := range v.Lines {
		l, err := ParseLine([]byte(line + "\n"))
		require.NoError(t, err, line)
		require.Equal(t, line+"\n", string(l.Append(nil)))
		_, err = ParseLine([]byte(line))
		require.Error(t, err, "without its end: %s", line)
	}
	for _, line := range v.Refused {
		_, err := ParseLine([]byte(line + "\n"))
		require.Error(t, err, line)
	}
}

// TestVectorsOfWindows: the windows of limits begin as the file states.
func TestVectorsOfWindows(t *testing.T) {
	for _, w := range readVectors(t).Windows {
		rules, err := rules.Parse([]byte(`{"zone":"` + w.Zone + `","limits":[{"of":"draws","max":1,"per":"` + w.Per + `"}]}`))
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339Nano, w.At)
		require.NoError(t, err)
		start, err := time.Parse(time.RFC3339Nano, w.Start)
		require.NoError(t, err)
		require.True(t, start.Equal(rules.Limits[0].Per.Start(at, rules.Zone)), "%s of %s in %s", w.Per, w.At, w.Zone)
	}
}

// TestVectorsInPython: the second verifier computes the same values.
func TestVectorsInPython(t *testing.T) {
	code, last := second(t, "--vectors", vectorsFile)
	require.Equal(t, 0, code, last)
}

// TestTreeIsRFC6962: the tree has the same roots as package tlog computes.
func TestTreeIsRFC6962(t *testing.T) {
	var tree Tree
	var hashes []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) (found []tlog.Hash, err error) {
		for _, i := range at {
			found = append(found, hashes[i])
		}
		return found, nil
	})
	for n := range int64(300) {
		want, err := tlog.TreeHash(n, read)
		require.NoError(t, err)
		require.Equal(t, want, tree.Root(), "size %d", n)
		line := []byte(strconv.FormatInt(n, 10))
		more, err := tlog.StoredHashes(n, line, read)
		require.NoError(t, err)
		hashes = append(hashes, more...)
		tree.Add(line)
	}
}
