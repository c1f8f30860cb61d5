package proof

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"drawsvc/internal/draw"
)

// cosignatureKey is the type of a witness's key in c2sp.org/tlog-cosignature: Ed25519
// with a time.
const cosignatureKey = 4

// timeMax is the last second of the year 9999.
const timeMax = 253402300799

// Witness checks the cosignatures of one witness.
type Witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

// ParseWitness reads the verifier key of a witness, NAME+HASH+BASE64 in canonical form.
// Error: CodeInvalidRequest; a log's key is refused, too.
func ParseWitness(text string) (*Witness, error) {
	bad := errQuoted(text, "is no verifier key of a witness: NAME+HASH+KEY for cosignatures, Ed25519")
	name, rest, _ := strings.Cut(text, "+")
	hash, encoded, _ := strings.Cut(rest, "+")
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) != 1+ed25519.PublicKeySize || key[0] != cosignatureKey || base64.StdEncoding.EncodeToString(key) != encoded {
		return nil, bad
	}
	if name == "" || len(strings.Fields(name)) != 1 || strings.Fields(name)[0] != name {
		return nil, bad
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), key...))
	w := &Witness{name: name, hash: binary.BigEndian.Uint32(sum[:]), key: key[1:]}
	if fmt.Sprintf("%08x", w.hash) != hash {
		return nil, bad
	}
	return w, nil
}

// Name returns the witness's name, a schemeless URL or a host.
func (w *Witness) Name() string { return w.name }

// Key returns the verifier key as text.
func (w *Witness) Key() string {
	return fmt.Sprintf("%s+%08x+%s", w.name, w.hash, base64.StdEncoding.EncodeToString(append([]byte{cosignatureKey}, w.key...)))
}

// Cosigned looks for the witness's signature among the lines after a checkpoint's text,
// and returns the signature's time. ok is false if there is none. Error:
// CodeInvalidRequest if the signature is invalid.
func (w *Witness) Cosigned(text string, lines []byte) (at time.Time, ok bool, err error) {
	_, at, err = w.line(text, lines)
	return at, !at.IsZero(), err
}

// Line returns the witness's line among lines, "" if there is none. Error: that of
// [Witness.Cosigned].
func (w *Witness) Line(text string, lines []byte) (string, error) {
	line, _, err := w.line(text, lines)
	return line, err
}

// IsAmong reports whether one of the lines names the witness. The line need not be valid.
func (w *Witness) IsAmong(lines []byte) bool {
	for line := range bytes.Lines(lines) {
		if w.signature(line) != nil {
			return true
		}
	}
	return false
}

// signature returns the signature in a line, nil if the line does not name the witness.
func (w *Witness) signature(line []byte) []byte {
	encoded, is := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), signaturePrefix+w.name+" ")
	signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !is || err != nil || len(signature) < 4 || binary.BigEndian.Uint32(signature) != w.hash {
		return nil
	}
	return signature
}

func (w *Witness) line(text string, lines []byte) (_ string, at time.Time, err error) {
	for line := range bytes.Lines(lines) {
		signature := w.signature(line)
		if signature == nil {
			continue
		}
		bad := draw.Errorf(draw.CodeInvalidRequest, "the cosignature of %s is not good", w.name)
		if len(signature) != 4+8+ed25519.SignatureSize {
			return "", at, bad
		}
		seconds := binary.BigEndian.Uint64(signature[4:])
		message := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", seconds, text)
		if seconds == 0 || seconds > timeMax || !ed25519.Verify(w.key, message, signature[12:]) {
			return "", at, bad
		}
		return string(line), time.Unix(int64(seconds), 0).UTC(), nil
	}
	return "", at, nil
}

// signaturePrefix begins each line of a signature.
const signaturePrefix = "— "

// Signatures returns the signature lines of a signed note.
func Signatures(signed []byte) []byte {
	if i := bytes.LastIndex(signed, []byte("\n\n")); i >= 0 {
		return signed[i+2:]
	}
	return nil
}
