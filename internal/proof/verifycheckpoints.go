package proof

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"iter"

	"drawsvc/internal/draw"
)

// checkpoints are the checkpoints of the folder. A long campaign has one for each second,
// so they are read twice instead of being kept in memory. In the first reading all are
// verified. In the second, each is compared with the tree when the tree has grown to its
// size.
type checkpoints struct {
	latest []byte
	// verified is the hash of the file's checkpoints in the first reading, again the hash in
	// the second. If they differ, the file was changed in between.
	verified, again hash.Hash
	// next is the checkpoint with which the tree is compared next, nil after the last one.
	next *expected
	pull func() ([]byte, error, bool)
	stop func()
	// verifiedNote is the note that was verified last, verifiedCheckpoint its checkpoint.
	verifiedNote       []byte
	verifiedCheckpoint Checkpoint
}

// readCheckpoints verifies all checkpoints of the folder.
func (v *verifier) readCheckpoints() (err error) {
	if v.latest, err = v.read("checkpoint"); err != nil {
		return err
	}
	v.verified, v.again = sha256.New(), sha256.New()
	isLast := false
	for signed, err := range v.eachCheckpoint() {
		if err != nil {
			return err
		}
		if err := v.readCheckpoint(signed); err != nil {
			return err
		}
		isLast = v.options.Live && textOf(signed) == textOf(v.latest) || bytes.Equal(signed, v.latest)
	}
	if !isLast {
		return findf(0, RuleCheckpoint, "checkpoint is not the last of checkpoints")
	}
	return nil
}

// eachCheckpoint yields the notes of the checkpoints. With Live, it ends after the latest
// checkpoint. It also ends after its first error.
func (v *verifier) eachCheckpoint() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		joined, err := v.open("checkpoints")
		if errors.Is(err, fs.ErrNotExist) { // the latest checkpoint is enough
			joined, err = nil, nil
		}
		if err != nil {
			yield(nil, err)
			return
		}
		in := io.Reader(bytes.NewReader(v.latest))
		if joined != nil {
			defer func() { _ = joined.Close() }() // it was only read
			in = joined
		}
		for signed, err := range SplitNotes(in) {
			if err != nil {
				err = findf(0, RuleFile, "checkpoints: %s", draw.DetailOf(err))
			}
			if !yield(signed, err) || err != nil {
				return
			}
			if v.options.Live && textOf(signed) == textOf(v.latest) { // cosignatures may have been added meanwhile
				return
			}
		}
	}
}

// readCheckpoint checks the next checkpoint of the folder.
func (v *verifier) readCheckpoint(signed []byte) error {
	isAgain := v.isVerified(signed)
	c, err := v.checkpoint(signed)
	if err != nil {
		return findf(0, RuleCheckpoint, "checkpoints: %s", draw.DetailOf(err))
	}
	if !isAgain {
		err = v.cosigned(signed, c)
	}
	if err != nil {
		return err
	}
	if c.Size < v.covered {
		return findf(0, RuleCheckpoint, "checkpoints: the size %d comes behind %d", c.Size, v.covered)
	}
	v.covered = c.Size
	v.verified.Write([]byte(c.Text()))
	return nil
}

// beginCheckpoints begins the second reading.
func (v *verifier) beginCheckpoints() error {
	v.pull, v.stop = iter.Pull2(v.eachCheckpoint())
	return v.nextCheckpoint()
}

// nextCheckpoint reads the next checkpoint, which the first reading has verified.
func (v *verifier) nextCheckpoint() error {
	signed, err, more := v.pull()
	if err != nil {
		return err
	}
	if v.next = nil; !more {
		if !bytes.Equal(v.again.Sum(nil), v.verified.Sum(nil)) {
			return findf(0, RuleFile, "checkpoints: the file was changed while it was verified")
		}
		return nil
	}
	c, err := ReadCheckpoint(signed)
	if err != nil {
		return findf(0, RuleFile, "checkpoints: %s", draw.DetailOf(err))
	}
	v.next = &expected{*c, RuleCheckpoint}
	v.again.Write([]byte(c.Text()))
	return nil
}

// expects returns the signed root with which the tree is compared next, nil for none. The
// smallest size comes first. For equal sizes, the order is the commitment, a checkpoint,
// a kept checkpoint.
func (v *verifier) expects() (e *expected, isNext bool) {
	if c := v.next; c != nil && (len(v.signed) == 0 || c.Size < v.signed[0].Size || c.Size == v.signed[0].Size && v.signed[0].rule != RuleCommitment) {
		return c, true
	}
	if len(v.signed) == 0 {
		return nil, false
	}
	return &v.signed[0], false
}

// compare compares the tree with the signed roots for its size.
func (v *verifier) compare(size int64) error {
	for {
		e, isNext := v.expects()
		if e == nil || e.Size != size {
			return nil
		}
		if e.Root != v.tree.Root() {
			return findf(size, e.rule, "the log up to here has another root than the one that was signed")
		}
		if !isNext {
			v.signed = v.signed[1:]
		} else if err := v.nextCheckpoint(); err != nil {
			return err
		}
	}
}

// textOf returns the text of a note without verifying it.
func textOf(signed []byte) string { return string(signed[:len(signed)-len(Signatures(signed))]) }

// checkpoint verifies and reads a checkpoint. If it equals the previous one, it is not
// verified again.
func (v *verifier) checkpoint(signed []byte) (*Checkpoint, error) {
	if v.isVerified(signed) {
		return &v.verifiedCheckpoint, nil
	}
	c, err := OpenCheckpoint(signed, v.key) // the key's name must be the log's origin
	if err != nil {
		return nil, err
	}
	v.verifiedNote, v.verifiedCheckpoint = append(v.verifiedNote[:0], signed...), *c
	return c, nil
}

// isVerified reports whether a note is the one that was verified last.
func (v *verifier) isVerified(signed []byte) bool {
	return v.verifiedNote != nil && bytes.Equal(signed, v.verifiedNote)
}
