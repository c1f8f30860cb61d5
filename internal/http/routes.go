package http

import (
	nethttp "net/http"

	"github.com/gin-gonic/gin"
)

// drawPath is the path of POST /draw, the one call that draws.
const drawPath = "/draw"

// route is one call of the interface, as data. gin's routes, the labels of the
// metrics and the authorization are made from it.
type route struct {
	method, path string
	// role is what the caller's token must allow.
	role role
	// query names the query parameters that the call takes.
	query []string
	// handle answers the call once role, path and query are checked.
	handle handler
}

// routes is the table of all calls. HEAD goes wherever GET does.
func (s *Server) routes() []route {
	page := []string{"after", "limit"}
	export := append([]string{formulas}, page...)
	return []route{
		{"POST", drawPath, roleDraw, nil, s.postDraw},
		{"GET", "/pools/:pool", roleDraw, nil, reads(s.pool)},
		{"GET", "/pools/:pool/draws/:draw", roleDraw, nil, s.drawAgain},

		{"POST", "/admin/pools", roleAdmin, nil, takes(s.createPool)},
		{"GET", "/admin/pools", roleAdmin, nil, reads(s.adminPools)},
		{"GET", "/admin/pools/:pool", roleAdmin, nil, reads(s.adminPool)},
		{"PATCH", "/admin/pools/:pool", roleAdmin, nil, takes(s.changePool)},
		{"POST", "/admin/pools/:pool/prizes", roleAdmin, nil, takes(s.addPrize)},
		{"POST", "/admin/pools/:pool/prizes/:prize/stock", roleAdmin, nil, takes(s.stock)},
		{"POST", "/admin/pools/:pool/import", roleAdmin, []string{"dry_run", "reason"}, s.importFile},
		{"GET", "/admin/pools/:pool/awards", roleAdmin, export, orCSV(reads(s.awards), s.exportAwards)},
		{"GET", "/admin/pools/:pool/moves", roleAdmin, export, orCSV(reads(s.moves), s.exportMoves)},
		{"GET", "/admin/pools/:pool/audit", roleAdmin, nil, s.audit},
		{"GET", "/admin/pools/:pool/statements", roleAdmin, page, orCSV(reads(s.statements), s.exportStatements)},

		{"GET", "/admin/jobs", roleAdmin, nil, reads(s.jobs)},
		{"GET", "/admin/jobs/:job", roleAdmin, nil, reads(s.job)},
		{"PATCH", "/admin/jobs/:job", roleAdmin, nil, takes(s.changeJob)},
		{"POST", "/admin/jobs/:job/run", roleAdmin, nil, reads(s.runJob)},
		{"GET", "/admin/jobs/:job/runs", roleAdmin, page, reads(s.runs)},

		{"GET", "/livez", roleNone, nil, live},
		{"GET", "/readyz", roleNone, nil, s.ready},
		{"GET", "/metrics", roleMetrics, nil, s.showMetrics()},
	}
}

// draws says whether the call is a draw, so that its problems must say what
// happened to it.
func (r *route) draws() bool { return r.path == drawPath }

// newEngine makes gin's engine of the table.
func (s *Server) newEngine(table []route) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	// Names of draws may hold anything printable, slashes too: routes are
	// matched on the path as it was sent, and its parts decoded afterwards.
	// gin would decode them as a query, with + for a space.
	e.UseEscapedPath = true
	e.UnescapePathValues = false
	unknown := route{path: unmatched}
	e.NoRoute(s.observe(unknown, noRoute))
	e.NoMethod(s.observe(unknown, noMethod))
	for _, r := range table {
		e.Handle(r.method, r.path, s.observe(r, checked))
		if r.method == nethttp.MethodGet {
			r.method = nethttp.MethodHead
			e.Handle(r.method, r.path, s.observe(r, checked))
		}
	}
	return e, e.SetTrustedProxies(nil)
}
