package proof

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"drawsvc/internal/draw"
)

// readWitnesses reads the keys of the witnesses that the folder names, if it does.
// Nobody trusts them for that; but what bears their names must be theirs.
func (v *verifier) readWitnesses() error {
	b, err := fs.ReadFile(v.files, "witnesses")
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
		case v.options.Witnessed != nil:
			v.options.Witnessed(w, c.Size, at)
		}
	}
	return nil
}

// upTo cuts off what is behind the latest checkpoint: a publisher goes on while
// its files are read. The latest may have gained cosignatures meanwhile.
func upTo(joined, latest []byte) (_, _ []byte) {
	text := latest[:len(latest)-len(Signatures(latest))]
	i := bytes.LastIndex(joined, text)
	if i < 0 || len(text) == 0 {
		return joined, latest
	}
	end := len(joined)
	if n := bytes.Index(joined[i+len(text):], []byte("\n\n")); n >= 0 {
		end = i + len(text) + n + 1
	}
	return joined[:end], joined[i:end]
}

// readKept takes what the caller kept. A note that is not good proves nothing,
// so it is a finding too.
func (v *verifier) readKept() error {
	own, err := v.read("commitment")
	if err != nil {
		return err
	}
	for _, signed := range v.options.Kept {
		if bytes.HasPrefix(signed, []byte(commitmentTitle+"\n")) {
			if !bytes.Equal(signed, own) {
				return findf(0, RuleKept, "the commitment is not the one that was kept")
			}
			continue
		}
		c, err := v.checkpoint(signed)
		if err != nil {
			return findf(0, RuleKept, "%s", draw.DetailOf(err))
		}
		v.signed = append(v.signed, expected{*c, RuleKept})
	}
	return nil
}
