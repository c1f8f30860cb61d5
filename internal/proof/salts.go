package proof

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"drawsvc/internal/draw"
)

const (
	// tagSize is the size of a tag and of a stock line's salt, in bytes.
	tagSize     = 16
	tagTextSize = 22
)

// Salts is the secret of a pool from which the tags of its log are computed. With it one
// can test whether a tag belongs to a name. Once it is destroyed, nobody can link a tag
// with a name.
type Salts [sha256.Size]byte

// NewSalts creates the secret of a new pool.
func NewSalts() (s Salts) {
	_, _ = rand.Read(s[:]) // it never fails
	return s
}

// Of returns the salt of a draw's name. With it one can test only the tag of that draw.
func (s Salts) Of(drawID string) Salt { return s.sum("", drawID) }

// OfUser returns the salt of a user in a pool whose rules count users.
func (s Salts) OfUser(user string) Salt { return s.sum("user\n", user) }

// Salt is used to test the tags of one draw, or of one user.
type Salt [sha256.Size]byte

func (s Salts) sum(label, text string) Salt { return s.tagger().sum(label, text) }

// tagger creates many salts. It keeps their common initial state, whose computation takes
// longer than the rest of a salt.
type tagger struct {
	mac hash.Hash
	b   []byte
}

func (s Salts) tagger() *tagger { return &tagger{mac: hmac.New(sha256.New, s[:])} }

func (t *tagger) sum(label, text string) Salt {
	t.mac.Reset()
	t.b = append(append(t.b[:0], label...), text...)
	t.mac.Write(t.b)
	t.b = t.mac.Sum(t.b[:0])
	return Salt(t.b)
}

// DrawTag returns the tag that replaces a draw's name.
func (s Salts) DrawTag(drawID string) string { return s.Of(drawID).tag("draw\n", drawID) }

// Pseudonym returns the tag that replaces a user in all draws, if the rules count users.
func (s Salts) Pseudonym(user string) string { return s.tagger().pseudonym(user) }

func (t *tagger) pseudonym(user string) string { return t.sum("user\n", user).tag("user\n", user) }

// StockSalt returns the salt of the stock line of a version.
func (s Salts) StockSalt(version int64) string {
	salt := s.sum("stock\n", string(binary.BigEndian.AppendUint64(nil, uint64(version))))
	return base64.RawURLEncoding.EncodeToString(salt[:tagSize])
}

// Seal returns a hash of the body of an agenda's change, in hexadecimal. The hash commits
// to the body without disclosing it.
func (s Salts) Seal(version int64, body string) string {
	seal := s.sum("agenda\n", string(binary.BigEndian.AppendUint64(nil, uint64(version)))+body)
	return hex.EncodeToString(seal[:])
}

// tag returns the tag of a name. Names of draws and users contain no line breaks, so the
// hashed text is unambiguous.
func (s Salt) tag(label, name string) string {
	const room = 256 // so that most hashed texts need no allocation
	sum := sha256.Sum256(append(append(append(make([]byte, 0, room), s[:]...), label...), name...))
	var text [tagTextSize]byte
	base64.RawURLEncoding.Encode(text[:], sum[:tagSize])
	return string(text[:])
}

// String returns the salt in the form of a receipt.
func (s Salt) String() string { return base64.RawURLEncoding.EncodeToString(s[:]) }

// CountsUsers reports whether the rules count users, so that each user has one pseudonym
// for all draws. Outsiders need the pseudonyms to verify limits. nil means no rules.
func CountsUsers(r *draw.Rules) bool {
	return r != nil && (r.HasLimitBy(draw.ByUser) || r.Guarantee != nil || len(r.Blocked) > 0)
}
