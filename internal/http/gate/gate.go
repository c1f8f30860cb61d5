package gate

import (
	"crypto/x509"
	nethttp "net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/problem"
)

// Access is the part of a service's Config that decides who may call.
type Access struct {
	// Tokens are the valid tokens.
	Tokens *access.Keeper
	// Actor, if it is set, is recorded with each change instead of the token's name:
	// all callers are one user of this machine.
	Actor string
	// PublicDraw allows anyone to draw and read, from anywhere, as long as Tokens has never
	// contained a token of role draw.
	PublicDraw bool
	// DemoDraw allows the same as PublicDraw, but refuses pages of other sites in a
	// browser.
	DemoDraw bool
	// AllowedHosts are names of the service besides those of loopback, for DemoDraw.
	AllowedHosts []string
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// ClientCAs, if it is set, returns the current authorities: admin calls need a
	// client certificate of one of them.
	ClientCAs func() *x509.CertPool
}

// Refused is the cause of a 401 or 429 for a token that was sent, as the label of the
// metric.
type Refused string

// The causes.
const (
	Wrong   Refused = "wrong"
	Expired Refused = "expired"
)

// Error implements error.
func (r Refused) Error() string { return "token refused: " + string(r) }

// Gate decides who may make a call.
type Gate struct {
	tokens      *access.Keeper
	anyone      *access.Token // for callers who need no token
	allowed     map[access.Role][]access.Role
	publicDraw  bool
	demoDraw    bool
	crossOrigin nethttp.CrossOriginProtection
	hosts       []string
	clientCAs   func() *x509.CertPool
	proxies     []netip.Prefix
	refused     *prometheus.CounterVec
	// Guesses counts wrong tokens.
	Guesses *Guesses
	// Now is the clock.
	Now func() time.Time
}

// New returns the gate of an Access. refused counts the refused tokens by their cause.
func New(a *Access, refused *prometheus.CounterVec) *Gate {
	return &Gate{
		tokens: a.Tokens, anyone: &access.Token{}, allowed: Allowed(), publicDraw: a.PublicDraw, demoDraw: a.DemoDraw,
		hosts: a.AllowedHosts, proxies: a.TrustedProxies, clientCAs: a.ClientCAs, refused: refused, Guesses: NewGuesses(), Now: time.Now,
	}
}

// Admit returns the token that allows r to make a call that needs a role, or anyone if
// none is needed. The token is checked first, so that a caller without a token gets no
// further information.
func (g *Gate) Admit(need access.Role, r *nethttp.Request) (*access.Token, error) {
	if g.isOpen(need, r) {
		return g.recognise(need, r), nil
	}
	if err := g.checkCertificate(need, r); err != nil {
		return nil, err
	}
	token, err := g.identify(r)
	if err != nil {
		if need == access.Draw && g.demoDraw && !g.tokens.Closed() && r.Header["Authorization"] == nil {
			return nil, draw.Errorf(draw.CodeForbidden, "a demo takes no draws from pages of other sites: the Host must be of loopback or of --allowed-hosts")
		}
		return nil, err
	}
	if !slices.Contains(g.allowed[token.Role], need) {
		return nil, draw.Errorf(draw.CodeForbidden, "this call needs a token of role %s; the token has the role %s", need, token.Role)
	}
	return token, nil
}

// Drawers is the group of callers that may draw.
type Drawers string

// The values of Drawers.
const (
	// Anyone may draw without a token.
	Anyone Drawers = "anyone"
	// TokenDraws means that a token of role draw is valid.
	TokenDraws Drawers = "token"
	// Nobody means that no token of role draw is valid, so that only admins can draw.
	Nobody Drawers = "nobody"
)

// Drawers returns who may draw now.
func (g *Gate) Drawers() Drawers {
	switch {
	case !g.tokens.Closed() && (g.publicDraw || g.demoDraw):
		return Anyone
	case g.tokens.Set().HasValid(access.Draw, g.Now()):
		return TokenDraws
	default:
		return Nobody
	}
}

// isOpen reports whether r needs no token for a call that needs a role. No request can
// prove that its caller is on this machine: a proxy there may send the same. So only
// the operator opens calls.
func (g *Gate) isOpen(need access.Role, r *nethttp.Request) bool {
	switch need {
	case None:
		return true
	case access.Draw:
		return !g.tokens.Closed() && (g.publicDraw || g.demoDraw && !g.isFromOtherSite(r))
	default:
		return false
	}
}

// recognise returns the valid token of r, otherwise anyone, for a call that anyone may
// make. So floods of callers without a token do not use up the bounds of callers with
// one. An invalid token gives no rights here, so it does not count as a guess.
func (g *Gate) recognise(need access.Role, r *nethttp.Request) *access.Token {
	text, given := bearer(r.Header)
	if !given { // the usual case costs no digest
		return g.anyone
	}
	if token, found := g.tokens.Set().Find(access.DigestOf(text)); found && !token.Expired(g.Now()) && slices.Contains(g.allowed[token.Role], need) {
		return token
	}
	return g.anyone
}

// identify returns the token of r. Wrong tokens count as guesses from their address. A
// right token is always accepted, even after guesses.
func (g *Gate) identify(r *nethttp.Request) (*access.Token, error) {
	text, given := bearer(r.Header)
	if !given {
		return nil, draw.Errorf(problem.CodeUnauthorized, "the Authorization header with a bearer token is missing")
	}
	now := g.Now()
	token, found := g.tokens.Set().Find(access.DigestOf(text))
	switch {
	//double:guessable g.Guesses.Wrong(g.Remote(r), now) => g.Guesses.Wrong(g.Remote(r), now) && false
	case !found && g.Guesses.Wrong(g.Remote(r), now):
		return g.refuse(Wrong, problem.CodeTooManyGuesses, "the bearer token is not valid, and too many wrong ones came from this address")
	case !found:
		return g.refuse(Wrong, problem.CodeUnauthorized, "the bearer token is not valid")
	case token.Expired(now):
		return g.refuse(Expired, problem.CodeUnauthorized, "the bearer token is not valid")
	}
	return token, nil
}

func (g *Gate) refuse(reason Refused, code draw.Code, detail string) (*access.Token, error) {
	g.refused.WithLabelValues(string(reason)).Inc()
	return nil, draw.Wrap(code, reason, "%s", detail)
}

// bearer returns the one bearer token in h. given is false if h has no token, an empty
// token or several tokens; then no lookup is made.
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

// Challenge returns the WWW-Authenticate header of the answer to a request with the
// header h.
func Challenge(h nethttp.Header) string {
	if h["Authorization"] == nil {
		return `Bearer realm="drawsvc"`
	}
	return `Bearer realm="drawsvc", error="invalid_token"`
}

// Admits reports whether an admitted token is still valid for a call that needs a role.
func (g *Gate) Admits(t *access.Token, need access.Role) bool {
	now, found := g.tokens.Set().Find(t.Digest)
	return found && !now.Expired(g.Now()) && slices.Contains(g.allowed[now.Role], need)
}
