package proof

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// receiptVector is a presented receipt. A valid receipt can be created again from the
// pool's secrets: Signer signs the note, and the salts follow from Secret. Counts means
// that the rules count users. Leaves are the hashes of the receipt's lines, Size is the
// size of the proof's checkpoint. For a receipt of a batch, What names the wrong part.
type receiptVector struct {
	What                            string
	Key, Signer, Secret, Draw, User string
	Counts                          bool
	Receipt, Proof                  json.RawMessage
	Leaves                          []string
	Size                            int64
	Good                            bool
}

// shown returns an answer that contains the receipt.
func (v *receiptVector) shown(t *testing.T) []byte {
	answer := map[string]any{"draw": v.Draw, "user": v.User, "receipt": v.Receipt}
	if v.Proof != nil {
		answer["proof"] = v.Proof
	}
	return asJSON(t, answer)
}

// awards returns the awards of the lines, with the names that the tags hide in the log.
func (v *receiptVector) awards(p *Promised) (awards []draw.Award) {
	for _, l := range p.Lines {
		awards = append(awards, draw.Award{
			Version: l.Version, At: l.At, DrawID: v.Draw, Ordinal: l.Ordinal, UserID: v.User, PrizeID: l.PrizeID, Unit: l.Unit, Redirect: l.Redirect,
		})
	}
	return awards
}

// TestVectorsOfReceipts: receipts are valid exactly if the file states so. The secrets of
// the pool create the valid ones again, byte for byte.
func TestVectorsOfReceipts(t *testing.T) {
	all := readVectors(t).Receipts
	require.GreaterOrEqual(t, len(all), 15)
	parsed := map[bool]*draw.Rules{}
	var err error
	parsed[true], err = rules.Parse([]byte(`{"limits":[{"of":"draws","max":9,"per":"day"}]}`))
	require.NoError(t, err)
	made := 0
	for i := range all {
		v := &all[i]
		b := v.shown(t)
		err := presents(t, b, v.Key)
		require.Equal(t, v.Good, err == nil, "receipt vector %d: %v", i, err)
		if !v.Good {
			continue
		}
		shown, err := ParsePresented(b)
		require.NoError(t, err)
		key, err := Verifier(v.Key)
		require.NoError(t, err)
		p, err := shown.Open(key)
		require.NoError(t, err)
		for j, line := range p.Encoded {
			leaf := tlog.RecordHash(line)
			require.Equal(t, v.Leaves[j], hex.EncodeToString(leaf[:]))
		}
		require.Len(t, v.Leaves, len(p.Encoded))
		if shown.Proof != nil {
			c, err := p.Includes(shown.Proof, key)
			require.NoError(t, err)
			require.Equal(t, v.Size, c.Size)
		}
		by, err := NewReceipts(key.Name(), &Secrets{Salts: bytesOf(t, v.Secret), Signer: v.Signer})
		require.NoError(t, err)
		again, err := by.Of(v.awards(p), parsed[v.Counts])
		require.NoError(t, err)
		require.Equal(t, shown.Receipt, again)
		made++
	}
	require.GreaterOrEqual(t, made, 5)
}
