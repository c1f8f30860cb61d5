package http

import (
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// role is the role that a call requires, and the role of a token.
type role = access.Role

const (
	roleNone    = gate.None // anyone may call
	roleDraw    = access.Draw
	roleMetrics = access.Metrics
	roleAuditor = access.Auditor
	roleStock   = access.Stock
	roleFulfil  = access.Fulfil
	// roleReader is the required role of the reads that the roles auditor and fulfil may
	// make.
	roleReader = access.Reader
	roleFeed   = access.FeedReader
	roleAdmin  = access.Admin
)

// drawPath and poolDrawPath are the paths of the calls that draw.
const (
	drawPath     = "/draw"
	poolDrawPath = "/pools/:pool/draws"
)

// codesPath is the path of the codes of a prize.
const codesPath = "/admin/pools/:pool/prizes/:prize/codes"

// route is one call of the interface, as data. gin's routes, the labels of the metrics
// and the authorization are made from it.
type route struct {
	method, path string
	// role is the minimum role of the caller's token.
	role role
	// query names the query parameters of the call.
	query []string
	// answers are the media types of the call's answers, the usual one first. If there
	// are none, the call ignores Accept. Calls without media types are probes and
	// scrapes, which must not fail because of a header; files, whose path names their
	// format; and calls without content in the answer.
	answers []string
	// handle answers the call after role, path and query were checked.
	handle handler
}

// draws reports whether the call is a draw, whose problems must state its outcome.
func (r *route) draws() bool { return r.path == drawPath || r.path == poolDrawPath }

// streams reports whether the answer lasts as long as its caller listens.
func (r *route) streams() bool { return r.path == eventsPath }

// probes reports whether machines make the call every few seconds.
func (r *route) probes() bool {
	return slices.Contains([]string{"/livez", "/readyz", "/metrics"}, r.path)
}

const (
	// eventsPath is the path of the stream of events.
	eventsPath = "/admin/events"
	typeEvents = "text/event-stream"
	// eventMax is the maximum time that a caller may take to receive one event.
	eventMax = 10 * time.Second
)

// readQuery reads the query parameters. A parameter that the route does not have, or
// that occurs twice, is rejected. The page of fairness has no parameters, and ignores
// parameters that other sites add to a shared link.
func (r *route) readQuery(raw string) (url.Values, error) {
	if r.path == fairPath {
		return nil, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the query cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(r.query, name) {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "unknown query parameter %s", draw.Quote(name))
		}
		if len(query[name]) > 1 {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "query parameter %q is there twice", name)
		}
	}
	return query, nil
}

// unmatched is the name in logs and metrics for requests that match no route.
const unmatched = "unmatched"

// routes is the table of all calls. HEAD is allowed wherever GET is.
func (s *Server) routes() []route {
	page := []string{"after", "limit"}
	export := append([]string{formulas}, page...)
	simulated := []string{"draws", "users", "rate", "seed", "from", "to"}
	jsons, texts, csvs, ndjsons := []string{typeJSON}, []string{typePlain}, []string{typeJSON, typeCSV}, []string{typeJSON, typeNDJSON}
	return append([]route{
		{"POST", drawPath, roleDraw, nil, jsons, s.postDraw},
		{"POST", poolDrawPath, roleDraw, nil, jsons, s.postDraw},
		{"GET", "/pools/:pool", roleDraw, nil, jsons, showCopy(s.copies)},
		{"GET", "/pools/:pool/draws/:draw", roleDraw, nil, jsons, s.drawAgain},
		{"GET", "/pools/:pool/draws/:draw/receipt", roleDraw, nil, jsons, queued(proofs, s.drawReceipt)},
		{"POST", "/pools/:pool/draws/:draw/claim", roleDraw, nil, jsons, s.claim},
		{"GET", "/pools/:pool/odds", roleDraw, nil, jsons, showCopy(s.odds)},
		{"GET", "/pools/:pool/users/:user", roleDraw, nil, jsons, reads(s.user)},
		{"GET", "/pools/:pool/users/:user/awards", roleDraw, page, jsons, s.gzipped(reads(s.userAwards))},

		{"GET", feedPath, roleFeed, append([]string{"win", "wait", "accept"}, export...), []string{typeJSON, typeCSV, typeNDJSON}, s.gzipped(s.feedAs())},
		{"GET", "/admin/self", roleReader, nil, jsons, s.self},
		{"GET", eventsPath, roleAuditor, nil, []string{typeEvents}, s.events},
		{"GET", "/pools/:pool/proof/commitment", roleDraw, nil, texts, s.published("commitment")},
		{"GET", "/pools/:pool/proof/key", roleDraw, nil, texts, s.published("key")},
		{"GET", "/pools/:pool/proof/checkpoint", roleDraw, nil, texts, s.published("checkpoint")},
		{"GET", "/pools/:pool/proof/reveal", roleDraw, nil, texts, s.published("reveal")},
		{"GET", "/pools/:pool/proof/log", roleDraw, nil, []string{typeNDJSON}, s.gzipped(queued(publicLogs, s.proofLog))},

		{"POST", "/admin/pools", roleAdmin, nil, jsons, takes(s.createPool)},
		{"GET", "/admin/pools", roleReader, append([]string{"archived", "q", "state"}, page...), jsons, s.gzipped(forFulfil(reads(s.poolNames), reads(s.adminPools)))},
		{"GET", "/admin/pools/:pool", roleReader, nil, jsons, s.gzipped(forFulfil(reads(s.poolName), reads(s.adminPool)))},
		{"PATCH", "/admin/pools/:pool", roleAdmin, nil, jsons, takes(s.changePool)},
		{"DELETE", "/admin/pools/:pool", roleAdmin, nil, nil, s.deletePool},
		{"POST", "/admin/pools/:pool/copy", roleAdmin, nil, jsons, s.copyPool},
		{"POST", "/admin/pools/:pool/prizes", roleAdmin, nil, jsons, takes(s.addPrize)},
		{"GET", "/admin/pools/:pool/prizes", roleAuditor, []string{formulas}, csvs, s.gzipped(orCSV(reads(s.prizes), s.exportPrizes))},
		{"PATCH", "/admin/pools/:pool/prizes/:prize", roleAdmin, nil, jsons, takes(s.changePrize)},
		{"POST", "/admin/pools/:pool/prizes/:prize/stock", roleStock, nil, jsons, takes(s.stock)},
		{"POST", codesPath, roleAdmin, []string{"reserve", "skip", "dry_run"}, jsons, s.importCodes},
		{"GET", codesPath, roleReader, nil, jsons, reads(s.codeCounts)},
		{"DELETE", codesPath, roleAdmin, []string{"count"}, jsons, s.dropCodes},
		{"POST", "/admin/pools/:pool/import", roleStock, []string{"dry_run", "reason"}, jsons, s.importFile},
		{"GET", "/admin/pools/:pool/awards", roleReader, append(filters(), export...), csvs, s.gzipped(byState(
			orCSV(reads(s.findLives), streamed(s.exportLives)), orCSV(reads(s.awards), streamed(s.exportAwards))))},
		{"GET", awardPath, roleReader, nil, jsons, reads(s.award)},
		{"POST", awardPath + "/code", roleFulfil, nil, jsons, bodiless(reads(s.awardCode))},
		{"POST", stepsPath, roleFulfil, []string{"dry_run"}, jsons, s.postStep},
		{"GET", stepsPath, roleReader, export, []string{typeJSON, typeCSV, typeNDJSON}, s.gzipped(orCSV(orNDJSON(reads(s.steps), streamed(s.exportStepLines)), streamed(s.exportSteps)))},
		{"GET", "/admin/pools/:pool/moves", roleAuditor, export, csvs, s.gzipped(orCSV(reads(s.moves), streamed(s.exportMoves)))},
		{"GET", "/admin/pools/:pool/log", roleAuditor, append([]string{"acts"}, page...), ndjsons, s.gzipped(orNDJSON(reads(s.log), streamed(s.exportLog)))},
		{"PUT", "/admin/pools/:pool/rules", roleAdmin, nil, jsons, s.putRules},
		{"POST", "/admin/pools/:pool/rules", roleAdmin, nil, jsons, s.checkRules},
		{"GET", "/admin/pools/:pool/rules", roleAuditor, []string{"version"}, jsons, s.gzipped(reads(s.rules))},
		{"DELETE", "/admin/pools/:pool/rules", roleAdmin, nil, jsons, reads(s.deleteRules)},
		{"POST", "/admin/pools/:pool/commitment", roleAdmin, nil, texts, s.commitPool},
		{"GET", "/admin/pools/:pool/commitment", roleAuditor, nil, jsons, reads(s.commitment)},
		{"POST", "/admin/pools/:pool/skip", roleAdmin, nil, jsons, s.skipVersions},
		{"POST", "/admin/pools/:pool/reveal", roleAdmin, nil, texts, bodiless(s.revealPool)},
		{"POST", "/admin/pools/:pool/proof", roleAdmin, nil, []string{typeZip}, bodiless(whole(streamed(s.exportProof)))},
		{"PUT", "/admin/pools/:pool/proof/checkpoint", roleAdmin, nil, jsons, s.keepCheckpoint},
		{"DELETE", "/admin/pools/:pool/users/:user", roleAdmin, nil, jsons, s.eraseUser},
		{"GET", "/admin/pools/:pool/odds", roleAuditor, []string{"user"}, jsons, s.gzipped(reads(s.adminOdds))},
		{"GET", "/admin/pools/:pool/simulation", roleAuditor, simulated, jsons, s.gzipped(s.simulation)},
		{"POST", "/admin/pools/:pool/simulation", roleAdmin, simulated, jsons, s.gzipped(s.simulateDraft)},
		{"GET", "/admin/pools/:pool/audit", roleAuditor, nil, jsons, s.gzipped(streamed(s.audit))},
		{"GET", "/admin/pools/:pool/statements", roleAuditor, page, csvs, s.gzipped(orCSV(reads(s.statements), streamed(s.exportStatements)))},
	}, slices.Concat(s.agendaRoutes(), s.otherRoutes())...)
}

// agendaRoutes are the routes below a pool's agenda.
func (s *Server) agendaRoutes() []route {
	jsons := []string{typeJSON}
	return []route{
		{"POST", "/admin/pools/:pool/agenda", roleAdmin, nil, jsons, takes(s.planItem)},
		{"POST", "/admin/pools/:pool/agenda/import", roleAdmin, []string{"dry_run"}, jsons, s.importAgenda},
		{"POST", "/admin/pools/:pool/agenda/spread", roleAdmin, nil, jsons, s.spreadAgenda},
		{"GET", "/admin/pools/:pool/agenda", roleAuditor, []string{"open", "part", "kind", "prize", "from", "to", "after", "limit"}, jsons, s.gzipped(reads(s.agenda))},
		{"GET", "/admin/pools/:pool/agenda/sums", roleAuditor, []string{"at"}, jsons, s.gzipped(reads(s.agendaSums))},
		{"DELETE", "/admin/pools/:pool/agenda/:item", roleAdmin, nil, nil, s.removeItem},
		{"DELETE", "/admin/pools/:pool/agenda/imports/:version", roleAdmin, nil, nil, s.removePlanned},
	}
}

// otherRoutes are the routes that concern no pool: jobs, hooks, the clock, and the
// service itself.
func (s *Server) otherRoutes() []route {
	page, jsons := []string{"after", "limit"}, []string{typeJSON}
	adminPage := s.uiFiles()
	return []route{
		{"GET", "/admin/jobs", roleAuditor, nil, jsons, s.gzipped(reads(s.jobs))},
		{"GET", "/admin/jobs/:job", roleAuditor, nil, jsons, reads(s.job)},
		{"PATCH", "/admin/jobs/:job", roleAdmin, nil, jsons, takes(s.changeJob)},
		{"POST", "/admin/jobs/:job/run", roleAdmin, nil, jsons, bodiless(reads(s.runJob))},
		{"GET", "/admin/jobs/:job/runs", roleAuditor, page, jsons, s.gzipped(reads(s.runs))},

		{"POST", "/admin/hooks", roleAdmin, nil, jsons, takes(s.createHook)},
		{"GET", "/admin/hooks", roleAuditor, nil, jsons, s.gzipped(reads(s.hooks))},
		{"GET", "/admin/hooks/:hook", roleAuditor, nil, jsons, reads(s.hook)},
		{"PATCH", "/admin/hooks/:hook", roleAdmin, nil, jsons, takes(s.changeHook)},
		{"DELETE", "/admin/hooks/:hook", roleAdmin, nil, nil, s.removeHook},
		{"POST", "/admin/hooks/:hook/test", roleAdmin, nil, jsons, bodiless(s.testHook)},
		{"POST", "/admin/hooks/:hook/rotate", roleAdmin, nil, jsons, bodiless(reads(s.rotateHook))},
		{"POST", "/admin/hooks/:hook/retry", roleAdmin, nil, jsons, bodiless(reads(s.retryHook))},
		{"POST", "/admin/hooks/:hook/skip", roleAdmin, nil, jsons, takes(s.skipHook)},
		{"POST", "/admin/hooks/:hook/replay", roleAdmin, nil, jsons, takes(s.replayHook)},

		{"POST", "/admin/clock", roleAdmin, nil, jsons, takes(s.acceptClock)},

		{"GET", "/problems/:code", roleNone, nil, jsons, s.problem},
		{"GET", "/openapi.yaml", roleNone, nil, nil, describeYAML()},
		{"GET", "/openapi.json", roleNone, nil, nil, describeJSON()},
		{"GET", "/ui", roleNone, nil, nil, adminPage},
		{"GET", "/ui/:file", roleNone, nil, nil, adminPage},
		{"GET", fairPath, roleNone, nil, nil, s.fairPage()},
		{"GET", "/fair/-/:file", roleNone, nil, nil, s.fairFiles()},
		{"GET", "/fair/:pool/facts", roleNone, nil, jsons, s.fairFacts},
		{"GET", "/livez", roleNone, nil, nil, live},
		{"GET", "/readyz", roleNone, nil, nil, s.ready},
		{"GET", "/metrics", roleMetrics, nil, nil, s.showMetrics()},
	}
}

// newEngine creates gin's engine from the table.
func (s *Server) newEngine(table []route) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	// Names of draws may contain anything printable, even slashes: routes are matched on
	// the path as it was sent, and its parts are decoded afterwards. gin would decode
	// them as a query, with + for a space.
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
