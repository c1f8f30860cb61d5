package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
)

// Role is the set of calls that a token allows.
type Role string

// The roles of tokens.
const (
	// Admin allows every call.
	Admin Role = "admin"
	// Stock allows every admin GET, and moves and imports of stock.
	Stock Role = "stock"
	// Auditor allows every admin GET and /metrics.
	Auditor Role = "auditor"
	// Fulfil allows the calls for shipping prizes: the steps of awards that need no admin,
	// and the code of an award. It may also read awards, steps, and the names and states of
	// pools.
	Fulfil Role = "fulfil"
	// Draw allows draws, and the calls whose results every drawing client may read.
	Draw Role = "draw"
	// Metrics allows /metrics.
	Metrics Role = "metrics"
)

// These values state what a call requires if several roles may make it. No token has
// them.
const (
	// Reader is for calls that auditors and the role fulfil may make.
	Reader Role = "auditor or fulfil"
	// FeedReader is for the feed over all pools, which the role stock may not read.
	FeedReader Role = "admin, auditor or fulfil"
)

// Roles returns all roles of tokens.
func Roles() []Role { return []Role{Admin, Stock, Auditor, Fulfil, Draw, Metrics} }

// ParseRole returns the role that s names, or an error that lists the roles.
func ParseRole(s string) (Role, error) {
	if slices.Contains(Roles(), Role(s)) {
		return Role(s), nil
	}
	var names []string
	for _, r := range Roles() {
		names = append(names, string(r))
	}
	return "", fmt.Errorf("role must be one of %s", strings.Join(names, ", "))
}

// Digest is the SHA-256 of a token.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a token.
func DigestOf(token string) Digest {
	var usual [64]byte // a token of usual length needs no allocation
	return sha256.Sum256(append(usual[:0], token...))
}

// String returns the digest in 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Token describes a token.
type Token struct {
	// Name identifies who uses it.
	Name   string
	Role   Role
	Digest Digest
	// Until is the time of expiry; zero means never.
	Until time.Time
}

// Expired reports whether the token is rejected at the moment now.
func (t *Token) Expired(now time.Time) bool { return !t.Until.IsZero() && !now.Before(t.Until) }

func (t *Token) check() error {
	if err, bad := errors.AsType[*draw.Error](draw.CheckID("name", t.Name)); bad {
		return errors.New(err.Detail)
	}
	_, err := ParseRole(string(t.Role))
	return err
}

// Generate returns a new token and its description. The token has 130 bits of
// randomness. An error means that name, role or until is invalid.
func Generate(name string, role Role, until time.Time) (string, Token, error) {
	token := rand.Text()
	t := Token{Name: name, Role: role, Digest: DigestOf(token), Until: until}
	return token, t, t.check()
}
