package http

import (
	"crypto/sha256"
	"crypto/subtle"
	nethttp "net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"drawsvc/internal/draw"
)

// party is who asks, as far as a token tells.
type party int

const (
	nobody   party = iota // no token
	stranger              // a token that is not ours
	drawer
	admin
)

// tokens holds hashes, so that comparing takes as long whatever was sent,
// length included.
type tokens struct {
	admin, draw [sha256.Size]byte
	openDraw    bool
}

func newTokens(adminToken, drawToken string) tokens {
	return tokens{sha256.Sum256([]byte(adminToken)), sha256.Sum256([]byte(drawToken)), drawToken == ""}
}

func (t *tokens) party(h nethttp.Header) party {
	lines := h["Authorization"]
	if len(lines) == 0 {
		return nobody
	}
	scheme, token, _ := strings.Cut(lines[0], " ")
	if len(lines) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return stranger
	}
	sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	isAdmin := subtle.ConstantTimeCompare(sum[:], t.admin[:]) == 1
	isDrawer := subtle.ConstantTimeCompare(sum[:], t.draw[:]) == 1
	switch {
	case isAdmin:
		return admin
	case isDrawer && !t.openDraw:
		return drawer
	}
	return stranger
}

// needDraw lets through the draw token and the admin token, or anyone when
// there is no draw token.
func (s *Server) needDraw(c *gin.Context) {
	if s.tokens.openDraw {
		return
	}
	if p := s.tokens.party(c.Request.Header); p != drawer && p != admin {
		s.refuse(c, p)
	}
}

// needAdmin lets through the admin token.
func (s *Server) needAdmin(c *gin.Context) {
	if p := s.tokens.party(c.Request.Header); p != admin {
		s.refuse(c, p)
	}
}

// needMetrics lets through the admin token, or anyone when metrics are open.
func (s *Server) needMetrics(c *gin.Context) {
	if !s.OpenMetrics {
		s.needAdmin(c)
	}
}

func (s *Server) refuse(c *gin.Context, p party) {
	switch p {
	case drawer:
		s.fail(c, draw.Errorf(codeForbidden, "this call needs the admin token"))
	case nobody:
		c.Writer.Header().Set("WWW-Authenticate", `Bearer realm="drawsvc"`)
		s.fail(c, draw.Errorf(codeUnauthorized, "the Authorization header with a bearer token is missing"))
	default:
		c.Writer.Header().Set("WWW-Authenticate", `Bearer realm="drawsvc", error="invalid_token"`)
		s.fail(c, draw.Errorf(codeUnauthorized, "the bearer token is not valid"))
	}
}
