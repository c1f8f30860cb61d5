package proof

import (
	"bytes"
	"errors"
	"io/fs"

	"drawsvc/internal/draw"
)

// readCheckpoints checks all checkpoints of the folder. Of those of a publisher that
// runs, the ones behind the latest are its next.
func (v *verifier) readCheckpoints() error {
	latest, err := v.read("checkpoint")
	if err != nil {
		return err
	}
	joined, err := v.files.Open("checkpoints")
	if errors.Is(err, fs.ErrNotExist) { // the last is enough
		joined, err = v.files.Open("checkpoint")
	}
	if err != nil {
		return err
	}
	defer func() { _ = joined.Close() }() // it was only read
	isLast := false
	for signed, err := range SplitNotes(joined) {
		if err != nil {
			return findf(0, RuleFile, "checkpoints: %s", draw.DetailOf(err))
		}
		if err := v.readCheckpoint(signed); err != nil {
			return err
		}
		isLast = bytes.Equal(signed, latest)
		if v.options.Live && textOf(signed) == textOf(latest) { // which may have gained cosignatures meanwhile
			return nil
		}
	}
	if !isLast {
		return findf(0, RuleCheckpoint, "checkpoint is not the last of checkpoints")
	}
	return nil
}

// readCheckpoint checks the next checkpoint of the folder.
func (v *verifier) readCheckpoint(signed []byte) error {
	c, err := v.checkpoint(signed)
	if err != nil {
		return findf(0, RuleCheckpoint, "checkpoints: %s", draw.DetailOf(err))
	}
	if err := v.cosigned(signed, c); err != nil {
		return err
	}
	if c.Size < v.covered {
		return findf(0, RuleCheckpoint, "checkpoints: the size %d comes behind %d", c.Size, v.covered)
	}
	v.covered, c.Origin = c.Size, v.commitment.Origin // which it is: no text is kept
	v.signed = append(v.signed, expected{*c, RuleCheckpoint})
	return nil
}

// textOf is the text of a note, which nobody has verified.
func textOf(signed []byte) string { return string(signed[:len(signed)-len(Signatures(signed))]) }

func (v *verifier) checkpoint(signed []byte) (*Checkpoint, error) {
	return OpenCheckpoint(signed, v.key) // whose name is the log's
}
