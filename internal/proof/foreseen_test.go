package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

// clockedWitness is a witness whose clock the test sets.
type clockedWitness struct {
	key ed25519.PrivateKey
	id  []byte
}

const clockedName = "clocked.example/w"

func newClockedWitness(t *testing.T) (clockedWitness, string) {
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	typed := append([]byte{4}, public...)
	id := sha256.Sum256(append([]byte(clockedName+"\n"), typed...))
	return clockedWitness{key, id[:4]}, fmt.Sprintf("%s+%x+%s", clockedName, id[:4], base64.StdEncoding.EncodeToString(typed))
}

// cosign adds a cosignature with the given time to a note.
func (w clockedWitness) cosign(signed []byte, at time.Time) []byte {
	text, _, _ := strings.Cut(string(signed), "\n\n")
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s\n", at.Unix(), text)
	b := binary.BigEndian.AppendUint64(append([]byte{}, w.id...), uint64(at.Unix()))
	b = append(b, ed25519.Sign(w.key, []byte(message))...)
	return append(append([]byte{}, signed...), fmt.Sprintf("— %s %s\n", clockedName, base64.StdEncoding.EncodeToString(b))...)
}

// TestWitnessConvictsALateAnnouncement: the round of an opening may have been known when
// it was announced. The files do not reveal that. With a witness that did not sign the
// announcement before the round came, both verifiers reject the opening.
func TestWitnessConvictsALateAnnouncement(t *testing.T) {
	w := newWorld(t)
	w.withBeacon()
	w.prize("gold", 600, "19.90")
	w.commit(4, 100)
	before := w.check()
	round := w.announce(0)
	announced := w.pool.Head.Version
	covered := w.check()
	w.openWith(round)
	w.draw("d", "u", 1)
	w.state("closed")
	last := w.check()
	comes := w.beacon.At(round)
	by, key := newClockedWitness(t)

	with := func(notes ...[]byte) fstest.MapFS {
		files := w.files(w.log(), nil)
		files["checkpoints"].Data, files["checkpoint"].Data = JoinNotes(notes), notes[len(notes)-1]
		return files
	}
	seen := func(at time.Time) fstest.MapFS {
		return with(by.cosign(before, comes.Add(-time.Hour)), by.cosign(covered, at), by.cosign(last, comes.Add(time.Hour)))
	}
	for name, c := range map[string]struct {
		files fstest.MapFS
		holds bool
	}{
		"seen in time":            {seen(comes.Add(-time.Second)), true},
		"seen when it was there":  {seen(comes), false},
		"seen long after":         {seen(comes.Add(time.Minute)), false},
		"an earlier log was seen": {with(by.cosign(before, comes.Add(-time.Second)), by.cosign(last, comes.Add(time.Hour))), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, verified(t, c.files, VerifyOptions{}).OK, "the files alone show nothing")
			r := verified(t, c.files, VerifyOptions{Witnesses: []*Witness{parsedWitness(t, key)}})
			require.Equal(t, c.holds, r.OK, r.Detail)
			code, said := secondSays(t, c.files, "--witness", key)
			if c.holds {
				require.Zero(t, code, said)
				return
			}
			require.Equal(t, RuleBeacon, r.Rule)
			require.Equal(t, announced, r.Entry)
			require.Equal(t, fmt.Sprintf("entry %d: beacon: %s", announced, r.Detail), said)
			require.Equal(t, 3, code)
		})
	}
}
