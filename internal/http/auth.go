package http

import (
	"crypto/sha256"
	"crypto/subtle"
	nethttp "net/http"
	"strings"

	"drawsvc/internal/draw"
)

// role is what a call needs of the caller's token, and what a token allows.
type role string

const (
	roleNone    role = "none" // anyone may call
	roleDraw    role = "draw"
	roleMetrics role = "metrics"
	roleAdmin   role = "admin" // allows every call
)

// tokens holds hashes, so that comparing takes as long whatever was sent,
// length included.
type tokens struct {
	admin, draw           [sha256.Size]byte
	openDraw, openMetrics bool
}

func newTokens(c *Config) tokens {
	return tokens{
		admin: sha256.Sum256([]byte(c.AdminToken)), draw: sha256.Sum256([]byte(c.DrawToken)),
		openDraw: c.DrawToken == "", openMetrics: c.OpenMetrics,
	}
}

// authorize returns nil when a request with the header h may make a call that
// needs a role.
func (t *tokens) authorize(need role, h nethttp.Header) error {
	if t.isOpen(need) {
		return nil
	}
	switch has := t.roleOf(h); {
	case has == roleAdmin || has == need:
		return nil
	case has != roleNone:
		return draw.Errorf(codeForbidden, "this call needs the admin token")
	case h["Authorization"] == nil:
		return draw.Errorf(codeUnauthorized, "the Authorization header with a bearer token is missing")
	}
	return draw.Errorf(codeUnauthorized, "the bearer token is not valid")
}

// isOpen says whether calls that need a role need no token.
func (t *tokens) isOpen(need role) bool {
	switch need {
	case roleNone:
		return true
	case roleDraw:
		return t.openDraw
	case roleMetrics:
		return t.openMetrics
	default:
		return false
	}
}

// roleOf returns the role of the token that h holds, roleNone where there is
// none or it is not ours.
func (t *tokens) roleOf(h nethttp.Header) role {
	lines := h["Authorization"]
	if len(lines) != 1 {
		return roleNone
	}
	scheme, token, _ := strings.Cut(lines[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return roleNone
	}
	sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	isAdmin := subtle.ConstantTimeCompare(sum[:], t.admin[:]) == 1
	isDraw := subtle.ConstantTimeCompare(sum[:], t.draw[:]) == 1
	switch {
	case isAdmin:
		return roleAdmin
	case isDraw && !t.openDraw:
		return roleDraw
	}
	return roleNone
}

// actor is the name of the token that the call was made with, for the record.
func (c call) actor() string { return adminActor }

// adminActor is who acts with the admin token.
const adminActor = "admin"

// challenge is the WWW-Authenticate of an answer to the header h.
func challenge(h nethttp.Header) string {
	if h["Authorization"] == nil {
		return `Bearer realm="drawsvc"`
	}
	return `Bearer realm="drawsvc", error="invalid_token"`
}
