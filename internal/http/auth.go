package http

import (
	"crypto/x509"
	nethttp "net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
)

// role is what a call needs of the caller's token, and what a token allows.
type role = access.Role

const (
	roleNone    role = "none" // anyone may call
	roleDraw         = access.Draw
	roleMetrics      = access.Metrics
	roleAuditor      = access.Auditor
	roleStock        = access.Stock
	roleAdmin        = access.Admin
)

// refusedToken is the cause of a 401 or 429 for a token that was sent, as the
// label of the metric.
type refusedToken string

const (
	tokenWrong   refusedToken = "wrong"
	tokenExpired refusedToken = "expired"
)

// Error implements error.
func (r refusedToken) Error() string { return "token refused: " + string(r) }

// gate decides who may make a call.
type gate struct {
	tokens      *access.Keeper
	anyone      *access.Token // who needs no token
	allowed     map[role][]role
	publicDraw  bool
	demoDraw    bool
	crossOrigin nethttp.CrossOriginProtection
	hosts       []string
	clientCAs   func() *x509.CertPool
	proxies     []netip.Prefix
	guesses     *guesses
	metrics     metrics
	now         func() time.Time
}

func newGate(c *Config, m metrics) *gate {
	return &gate{
		tokens: c.Tokens, anyone: &access.Token{}, allowed: allowed(), publicDraw: c.PublicDraw, demoDraw: c.DemoDraw,
		hosts: c.AllowedHosts, proxies: c.TrustedProxies, clientCAs: c.ClientCAs, guesses: newGuesses(), metrics: m, now: time.Now,
	}
}

// admit returns the token that lets r make a call that needs a role; anyone
// where none is needed. The token comes before everything else, so that
// nobody learns more without one.
func (g *gate) admit(need role, r *nethttp.Request) (*access.Token, error) {
	if g.isOpen(need, r) {
		return g.anyone, nil
	}
	if err := g.checkCertificate(need, r); err != nil {
		return nil, err
	}
	token, err := g.identify(r)
	if err != nil {
		if need == roleDraw && g.demoDraw && !g.tokens.Closed() && r.Header["Authorization"] == nil {
			return nil, draw.Errorf(draw.CodeForbidden, "a demo takes no draws from pages of other sites: the Host must be of loopback or of --allowed-hosts")
		}
		return nil, err
	}
	if !slices.Contains(g.allowed[token.Role], need) {
		return nil, draw.Errorf(draw.CodeForbidden, "this call needs a token of role %s; the token has the role %s", need, token.Role)
	}
	return token, nil
}

// isOpen reports whether r needs no token for a call that needs a role. Nothing
// in a request shows that its caller is on this machine: a proxy there may send
// the same. So only the operator opens calls.
func (g *gate) isOpen(need role, r *nethttp.Request) bool {
	switch need {
	case roleNone:
		return true
	case roleDraw:
		return !g.tokens.Closed() && (g.publicDraw || g.demoDraw && !g.isFromOtherSite(r))
	default:
		return false
	}
}

// identify returns the token of r. Wrong tokens count as guesses of the
// address that they come from. A right one is let in, whatever came before.
func (g *gate) identify(r *nethttp.Request) (*access.Token, error) {
	text, given := bearer(r.Header)
	if !given {
		return nil, draw.Errorf(codeUnauthorized, "the Authorization header with a bearer token is missing")
	}
	now := g.now()
	token, found := g.tokens.Set().Find(access.DigestOf(text))
	switch {
	//double:guessable g.guesses.wrong(g.remote(r), now) => g.guesses.wrong(g.remote(r), now) && false
	case !found && g.guesses.wrong(g.remote(r), now):
		return g.refuse(tokenWrong, codeTooManyGuesses, "the bearer token is not valid, and too many wrong ones came from this address")
	case !found:
		return g.refuse(tokenWrong, codeUnauthorized, "the bearer token is not valid")
	case token.Expired(now):
		return g.refuse(tokenExpired, codeUnauthorized, "the bearer token is not valid")
	}
	return token, nil
}

func (g *gate) refuse(reason refusedToken, code draw.Code, detail string) (*access.Token, error) {
	g.metrics.refused.WithLabelValues(string(reason)).Inc()
	return nil, draw.Wrap(code, reason, "%s", detail)
}

// bearer returns the one bearer token that h holds. given is false where it
// holds none, an empty one or several: then there is nothing to look for.
func bearer(h nethttp.Header) (token string, given bool) {
	lines := h["Authorization"]
	if len(lines) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(lines[0], " ")
	token = strings.TrimLeft(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", false
	}
	return token, true
}

// challenge is the WWW-Authenticate of an answer to the header h.
func challenge(h nethttp.Header) string {
	if h["Authorization"] == nil {
		return `Bearer realm="drawsvc"`
	}
	return `Bearer realm="drawsvc", error="invalid_token"`
}
