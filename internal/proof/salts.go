package proof

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"

	"drawsvc/internal/draw"
)

const (
	// tagSize is the size of a tag and of a stock line's salt, in bytes.
	tagSize     = 16
	tagTextSize = 22
)

// Salts is the secret of a pool from which its log's tags follow. Who has it can
// try names; once it is destroyed nobody can link a tag with a name.
type Salts [sha256.Size]byte

// NewSalts makes the secret of a new pool.
func NewSalts() (s Salts) {
	_, _ = rand.Read(s[:]) // it never fails
	return s
}

// Of is the salt of a draw's name: who holds it can open that draw alone.
func (s Salts) Of(drawID string) []byte { return s.sum(drawID) }

// OfUser is the salt of a user in a pool whose rules count users.
func (s Salts) OfUser(user string) []byte { return s.sum("user\n" + user) }

func (s Salts) sum(text string) []byte {
	sum := hmac.New(sha256.New, s[:])
	sum.Write([]byte(text))
	return sum.Sum(nil)
}

// DrawTag stands for a draw's name.
func (s Salts) DrawTag(drawID string) string { return tag(s.Of(drawID), "draw\n", drawID) }

// Pseudonym stands for a user in all draws under rules that count users.
func (s Salts) Pseudonym(user string) string { return tag(s.OfUser(user), "user\n", user) }

// StockSalt is the salt of the stock line of a version.
func (s Salts) StockSalt(version int64) string {
	salt := s.sum("stock\n" + string(binary.BigEndian.AppendUint64(nil, uint64(version))))
	return base64.RawURLEncoding.EncodeToString(salt[:tagSize])
}

// Seal commits to the body of a change of an agenda, in hexadecimal, and does not
// tell it.
func (s Salts) Seal(version int64, body string) string {
	seal := s.sum("agenda\n" + string(binary.BigEndian.AppendUint64(nil, uint64(version))) + body)
	return hex.EncodeToString(seal)
}

// tag: a draw's name and a user hold no line's end.
func tag(salt []byte, label, name string) string {
	sum := sha256.New()
	sum.Write(salt)
	sum.Write([]byte(label + name))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:tagSize])
}

// CountsUsers says that users bear one pseudonym for all their draws under the
// rules, nil for none, so that outsiders can fold limits.
func CountsUsers(r *draw.Rules) bool {
	return r != nil && (len(r.Limits) > 0 || r.Guarantee != nil || len(r.Blocked) > 0)
}
