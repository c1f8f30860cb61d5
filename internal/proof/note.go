package proof

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
)

// NewKey creates the Ed25519 key of a pool. The key's name is the origin. NewKey returns
// the secret text of the signer, and the public text of the verifier.
func NewKey(origin string) (signer, verifier string, err error) {
	return note.GenerateKey(rand.Reader, origin)
}

// Checkpoint states the root of the log at a size.
type Checkpoint struct {
	Origin string
	// Size is the number of entries, at least 1.
	Size int64
	Root tlog.Hash
}

// Text returns the checkpoint without its signatures.
func (c *Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// ParseCheckpoint reads the text of a checkpoint. Error: CodeInvalidRequest, also for a
// text that differs from the output of [Checkpoint.Text].
func ParseCheckpoint(text string) (*Checkpoint, error) {
	c := &Checkpoint{}
	var root string
	lines := strings.Split(text, "\n")
	bad := draw.Errorf(draw.CodeInvalidRequest, "the text is no checkpoint in its one right form")
	if len(lines) != 4 {
		return nil, bad
	}
	if _, err := fmt.Sscanf(lines[1]+"\n"+lines[2], "%d\n%s", &c.Size, &root); err != nil {
		return nil, bad
	}
	c.Origin = lines[0]
	decoded, err := base64.StdEncoding.DecodeString(root)
	if err != nil || copy(c.Root[:], decoded) != len(c.Root) || c.Size < 1 || c.Text() != text {
		return nil, bad
	}
	return c, nil
}

// ReadCheckpoint reads the checkpoint in a note without verifying its signatures. Error:
// CodeInvalidRequest.
func ReadCheckpoint(signed []byte) (*Checkpoint, error) {
	text, _, _ := bytes.Cut(signed, []byte("\n\n"))
	return ParseCheckpoint(string(text) + "\n")
}

// Sign signs a text with the secret text of a key. The text must end with a newline.
// Error: CodeSeedUnavailable.
func Sign(text, signer string) ([]byte, error) {
	s, err := newSigner(signer)
	if err != nil {
		return nil, err
	}
	return note.Sign(&note.Note{Text: text}, s)
}

// newSigner reads the secret text of a pool's key. Error: CodeSeedUnavailable.
func newSigner(text string) (note.Signer, error) {
	s, err := note.NewSigner(text)
	if err != nil {
		return nil, draw.Errorf(draw.CodeSeedUnavailable, "the pool's key cannot be read")
	}
	return s, nil
}

// Open returns the text of a signed note. The first signature must be valid under the
// verifier's key, and the note must be in canonical form. Later signatures, such as those
// of witnesses, are not checked. Error: CodeInvalidRequest.
func Open(signed []byte, v note.Verifier) (string, error) {
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return "", draw.Errorf(draw.CodeInvalidRequest, "%s", cut(err.Error(), quoteMax)) // the text of the error names the key
	}
	if first := fmt.Sprintf("%s%s %s\n", signaturePrefix, n.Sigs[0].Name, n.Sigs[0].Base64); !bytes.HasPrefix(signed[len(n.Text)+1:], []byte(first)) {
		return "", draw.Errorf(draw.CodeInvalidRequest, "the signature of the pool's key is not the first")
	}
	again := bytes.NewBufferString(n.Text + "\n")
	for line := range bytes.Lines(signed[len(n.Text)+1:]) {
		name, encoded, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(string(line), "\n"), signaturePrefix), " ")
		signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil {
			return "", draw.Errorf(draw.CodeInvalidRequest, "a signature is not in its one right form")
		}
		again.WriteString(signaturePrefix + name + " " + base64.StdEncoding.EncodeToString(signature) + "\n")
	}
	if !bytes.Equal(again.Bytes(), signed) || len(n.Sigs)+len(n.UnverifiedSigs) != bytes.Count(signed[len(n.Text)+1:], []byte("\n")) {
		return "", draw.Errorf(draw.CodeInvalidRequest, "the note is not in its one right form")
	}
	return n.Text, nil
}

// Verifier reads the public text of a key, in canonical form. Error:
// CodeInvalidRequest.
func Verifier(key string) (note.Verifier, error) {
	v, err := note.NewVerifier(key)
	if err != nil {
		return nil, errQuoted(key, "is no verifier key: "+err.Error())
	}
	_, encoded, _ := strings.Cut(key[len(v.Name())+1:], "+")
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || fmt.Sprintf("%s+%08x+%s", v.Name(), v.KeyHash(), base64.StdEncoding.EncodeToString(decoded)) != key {
		return nil, errQuoted(key, "is not a canonical verifier key")
	}
	return v, nil
}

// JoinNotes joins signed notes by one empty line.
func JoinNotes(notes [][]byte) []byte { return bytes.Join(notes, []byte("\n")) }

// SplitNotes yields the notes that [JoinNotes] has joined. It reads them one by one,
// because a long campaign has a checkpoint for each second. A note is valid until the
// next one. The sequence ends after its first error: that of reading, or
// CodeInvalidRequest, for example for a note of more than NoteMax bytes.
func SplitNotes(joined io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReader(joined)
		var note []byte
		for gaps, isWithin := 0, false; ; {
			line, err := in.ReadSlice('\n')
			if string(line) == "\n" && !isWithin {
				gaps++
			}
			if isWithin = errors.Is(err, bufio.ErrBufferFull); isWithin { // the line continues
				err = nil
			}
			switch {
			case len(note)+len(line) > NoteMax:
				err = draw.Errorf(draw.CodeInvalidRequest, "a note is longer than %d bytes", NoteMax)
			case errors.Is(err, io.EOF) && gaps == 1:
				yield(append(note, line...), nil)
				return
			case errors.Is(err, io.EOF):
				err = draw.Errorf(draw.CodeInvalidRequest, "the notes are not joined by one empty line")
			case err == nil && gaps < 2:
				note = append(note, line...)
				continue
			}
			if !yield(note, err) || err != nil {
				return
			}
			note, gaps = note[:0], 0
		}
	}
}
