package proof

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"drawsvc/internal/draw"
)

// readWitnesses reads the keys of the witnesses that the folder names, if any. The
// verifier does not trust these witnesses. But a signature under the name of one must be
// valid under its key.
func (v *verifier) readWitnesses() error {
	b, err := v.readOptional("witnesses")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range bytes.Lines(b) {
		text, ended := strings.CutSuffix(string(line), "\n")
		w, err := ParseWitness(text)
		if err != nil || !ended {
			return findf(0, RuleFile, "witnesses: a line is no verifier key of a witness")
		}
		v.witnesses = append(v.witnesses, w)
	}
	return nil
}

// cosigned checks the cosignatures of a checkpoint.
func (v *verifier) cosigned(signed []byte, c *Checkpoint) error {
	for _, w := range v.witnesses {
		if _, _, err := w.Cosigned(c.Text(), Signatures(signed)); err != nil {
			return findf(0, RuleSignature, "checkpoints: %s", draw.DetailOf(err))
		}
	}
	for _, w := range v.options.Witnesses {
		at, ok, err := w.Cosigned(c.Text(), Signatures(signed))
		switch {
		case err != nil:
			return findf(0, RuleWitness, "the checkpoint of %d entries: %s", c.Size, draw.DetailOf(err))
		case !ok:
			return findf(0, RuleWitness, "%s has not cosigned the checkpoint of %d entries", w.Name(), c.Size)
		}
		if v.sightings == nil {
			v.sightings = map[*Witness][]sighting{}
		}
		v.sightings[w] = append(v.sightings[w], sighting{c.Size, at.Unix()})
	}
	return nil
}

// sighting states that a witness signed a log of some size, at a time in seconds since
// 1970.
type sighting struct{ size, at int64 }

// foreseen checks that each witness signed the announcement of a round before the round
// came. Otherwise the operator may have chosen a round that was already known.
func (v *verifier) foreseen(a announcement) error {
	for _, w := range v.options.Witnesses {
		if !slices.ContainsFunc(v.sightings[w], func(s sighting) bool { return s.size >= a.version && s.at < a.comes.Unix() }) {
			return findf(a.version, RuleBeacon, "%s did not see that round %d was announced before it was there", w.Name(), a.round)
		}
	}
	return nil
}

// readKept reads the files that the caller kept. An invalid note proves nothing, so it is
// a finding too.
func (v *verifier) readKept() error {
	own, err := v.read("commitment")
	if err != nil {
		return err
	}
	for i, file := range v.options.Kept {
		if !bytes.HasPrefix(file, []byte(commitmentTitle+"\n")) {
			err = v.readKeptCheckpoints(i+1, file)
		} else if !bytes.Equal(file, own) {
			err = findf(0, RuleKept, "the commitment is not the one that was kept")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readKeptCheckpoints reads the checkpoints of the nth kept file: one, or a copy of the
// folder's checkpoints.
func (v *verifier) readKeptCheckpoints(n int, file []byte) error {
	which := 0
	for signed, err := range SplitNotes(bytes.NewReader(file)) {
		which++
		var c *Checkpoint
		if err == nil {
			c, err = v.checkpoint(signed)
		}
		if err != nil {
			return findf(0, RuleKept, "file %d, checkpoint %d: %s", n, which, draw.DetailOf(err))
		}
		v.signed = append(v.signed, expected{*c, RuleKept})
	}
	return nil
}
