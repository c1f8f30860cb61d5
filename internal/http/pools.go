package http

import (
	"bytes"
	"context"
	"io"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// Pools creates, lists and changes pools.
type Pools interface {
	CreatePool(ctx context.Context, p draw.Pool, actor string) (draw.Pool, error)
	// PoolPage returns at most limit pools that wanted selects, with ids above after, in
	// order of their ids, and the value of after for the next page, "" for none.
	PoolPage(ctx context.Context, wanted draw.PoolFilter, after string, limit int) (pools []draw.Pool, next string, err error)
	ChangePool(ctx context.Context, poolID string, change draw.PoolChange, actor string) (draw.Pool, error)
}

// Accountant computes what can be won from a pool.
type Accountant interface {
	// Money returns what can be won now from the pool p, under its money and its rules.
	Money(ctx context.Context, p *draw.Pool) (draw.Money, error)
}

// Copier copies pools.
type Copier interface {
	// CopyPool creates a pool like another one, completely or not at all. planned has a
	// record, with its seal, for each group of items that were planned together.
	CopyPool(ctx context.Context, fromID string, c draw.PoolCopy, actor string) (copied draw.Pool, planned []draw.Planned, err error)
}

// Deleter deletes pools that have never issued a unit.
type Deleter interface {
	DeletePool(ctx context.Context, poolID string, revisions []int64, actor string) error
}

// Stocker adds prizes and moves stock.
type Stocker interface {
	AddPrize(ctx context.Context, poolID string, p draw.Prize, actor string) (draw.Prize, error)
	ChangePrize(ctx context.Context, poolID, prizeID string, change draw.PrizeChange, actor string) (draw.Prize, error)
	Stock(ctx context.Context, s draw.Stocking, actor string) (draw.Move, error)
}

// Importer stocks a pool from a CSV file, completely or not at all.
type Importer interface {
	Import(ctx context.Context, w draw.Import, file io.Reader, progress func(done, total int)) (draw.Imported, error)
}

func (s *Server) checkMode(mode string) error {
	if slices.Contains(s.Modes, mode) {
		return nil
	}
	return draw.Errorf(draw.CodeInvalidRequest, "mode must be one of %s, or null for the service's own", strings.Join(s.Modes, ", "))
}

// createPool answers POST /admin/pools.
func (s *Server) createPool(ctx context.Context, c call, body *api.NewPool) (api.Pool, error) {
	if body.Mode != nil {
		if err := s.checkMode(*body.Mode); err != nil {
			return api.Pool{}, err
		}
	}
	wanted, err := body.Read()
	if err != nil {
		return api.Pool{}, err
	}
	made, err := s.Store.CreatePool(ctx, wanted, c.actor())
	if err != nil {
		return api.Pool{}, err
	}
	s.dropCopies(made.ID)
	c.created("/admin/pools/" + made.ID)
	return c.showPool(&made), nil
}

// poolPage reads the pools of a page. next is the parameter after of the next page, nil
// for none.
func (s *Server) poolPage(ctx context.Context, c call) (pools []draw.Pool, next *string, err error) {
	after := c.query.Get("after")
	if after != "" {
		if err := draw.CheckID("after", after); err != nil {
			return nil, nil, err
		}
	}
	limit, err := c.number("limit", 1, api.PageMax, api.PageUsual)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := c.poolsWanted()
	if err != nil {
		return nil, nil, err
	}
	pools, end, err := s.Store.PoolPage(ctx, wanted, after, int(limit))
	if end != "" {
		next = &end
	}
	return pools, next, err
}

// poolsWanted reads which pools of a list are requested.
func (c call) poolsWanted() (w draw.PoolFilter, err error) {
	archived, err := c.word("archived", "false", "true", "only")
	if err != nil {
		return w, err
	}
	w.Words, w.State = c.query.Get("q"), draw.State(c.query.Get("state"))
	w.Archived = map[string]draw.Archived{"true": draw.ArchivedToo, "only": draw.ArchivedOnly}[archived]
	return w, w.Check()
}

// adminPools answers GET /admin/pools.
func (s *Server) adminPools(ctx context.Context, c call) (api.Pools, error) {
	pools, next, err := s.poolPage(ctx, c)
	return api.Pools{Pools: api.ShowEach(pools, api.ShowPool), Next: next}, err
}

// poolNames answers GET /admin/pools for a token that reads only the names of pools.
func (s *Server) poolNames(ctx context.Context, c call) (api.PoolNames, error) {
	pools, next, err := s.poolPage(ctx, c)
	return api.PoolNames{Pools: api.ShowEach(pools, api.ShowPoolName), Next: next}, err
}

// poolName answers GET /admin/pools/{pool} for a token that reads only names.
func (s *Server) poolName(ctx context.Context, c call) (api.PoolName, error) {
	pool, err := s.Store.Pool(ctx, c.param("pool"))
	if err != nil {
		return api.PoolName{}, err
	}
	return api.ShowPoolName(&pool), nil
}

// forFulfil uses one handler for tokens of role fulfil, and another for all others.
func forFulfil(fulfil, others handler) handler {
	return func(c call) error {
		if c.caller.Role == access.Fulfil {
			return fulfil(c)
		}
		return others(c)
	}
}

// adminPool answers GET /admin/pools/{pool}.
func (s *Server) adminPool(ctx context.Context, c call) (api.Pool, error) {
	pool, err := s.Store.Pool(ctx, c.param("pool"))
	if err != nil {
		return api.Pool{}, err
	}
	money, err := s.Store.Money(ctx, &pool)
	shown := c.showPool(&pool)
	shown.Budget, shown.Nothing = api.ShowBudget(money.Budget), api.ShowNothing(money.Nothing)
	return shown, err
}

// showPool returns the answer that shows a pool; its tag is the pool's revision.
func (c call) showPool(p *draw.Pool) api.Pool {
	c.gin.Writer.Header().Set("ETag", strconv.Quote(strconv.FormatInt(p.Revision, 10)))
	return api.ShowPool(p)
}

// changePool answers PATCH /admin/pools/{pool}.
func (s *Server) changePool(ctx context.Context, c call, body *api.PoolChange) (api.Pool, error) {
	change, err := body.Read(s.checkMode)
	if err != nil {
		return api.Pool{}, err
	}
	change.Revisions = ifMatch(c.gin.Request.Header, nil)
	pool, err := s.Store.ChangePool(ctx, c.param("pool"), change, c.actor())
	if err != nil {
		return api.Pool{}, err
	}
	return c.showPool(&pool), nil
}

// deletePool answers DELETE /admin/pools/{pool}.
func (s *Server) deletePool(c call) error {
	ctx, done, err := c.begin()
	if err != nil {
		return err
	}
	defer done()
	if err := s.Store.DeletePool(ctx, c.param("pool"), ifMatch(c.gin.Request.Header, nil), c.actor()); err != nil {
		return err
	}
	c.noContent()
	return nil
}

// addPrize answers POST /admin/pools/{pool}/prizes. A prize has no separate path:
// Location is that of the pool, which shows the prize.
func (s *Server) addPrize(ctx context.Context, c call, body *api.NewPrize) (api.Prize, error) {
	wanted, err := body.Read()
	if err != nil {
		return api.Prize{}, err
	}
	prize, err := s.Store.AddPrize(ctx, c.param("pool"), wanted, c.actor())
	if err != nil {
		return api.Prize{}, err
	}
	c.created("/admin/pools/" + c.param("pool"))
	return api.ShowPrize(&prize), nil
}

// prizes answers GET /admin/pools/{pool}/prizes.
func (s *Server) prizes(ctx context.Context, c call) (api.Prizes, error) {
	pool, err := s.Store.Pool(ctx, c.param("pool"))
	return api.Prizes{Prizes: api.ShowEach(pool.Prizes, api.ShowPrize)}, err
}

// exportPrizes answers GET /admin/pools/{pool}/prizes with a file that can be imported.
func (s *Server) exportPrizes(c call) error {
	style, err := c.word(formulas, api.FormulasExact, api.FormulasEscaped)
	if err != nil {
		return err
	}
	found, err := placed(c, func(ctx context.Context) (api.Prizes, error) { return s.prizes(ctx, c) })
	if err != nil {
		return err
	}
	var out bytes.Buffer
	rows := api.NewPrizeRows(&out, style == api.FormulasEscaped)
	for i := range found.Prizes {
		rows.Write(&found.Prizes[i])
	}
	_ = rows.Flush() // writes to memory: cannot fail
	return c.send(typeCSVHeader, &out)
}

// changePrize answers PATCH /admin/pools/{pool}/prizes/{prize}.
func (s *Server) changePrize(ctx context.Context, c call, body *api.PrizeChange) (api.Prize, error) {
	change, err := body.Read()
	if err != nil {
		return api.Prize{}, err
	}
	prize, err := s.Store.ChangePrize(ctx, c.param("pool"), c.param("prize"), change, c.actor())
	return api.ShowPrize(&prize), err
}

// stock answers POST /admin/pools/{pool}/prizes/{prize}/stock.
func (s *Server) stock(ctx context.Context, c call, body *api.Stocking) (api.Stocked, error) {
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return api.Stocked{}, err
	}
	wanted := draw.Stocking{PoolID: c.param("pool"), PrizeID: c.param("prize"), Delta: body.Delta, Reason: body.Reason, Key: key}
	if err := wanted.Check(); err != nil {
		return api.Stocked{}, err
	}
	m, err := s.Store.Stock(ctx, wanted, c.actor())
	if err != nil {
		return api.Stocked{}, err
	}
	c.replayed(m.Replayed)
	return api.ShowStocked(&m), nil
}

// importReason is the reason of the moves if the caller names none.
const importReason = "import"

// importFile answers POST /admin/pools/{pool}/import. A large file has a longer timeout
// than other calls, to arrive and to be imported.
func (s *Server) importFile(c call) error {
	r := c.gin.Request
	if err := checkContentType(r.Header, "text/csv", "header"); err != nil {
		return err
	}
	wanted, err := c.importWanted()
	if err != nil {
		return err
	}
	var done draw.Imported
	err = c.importing(func(ctx context.Context, file io.Reader) (err error) {
		done, err = s.Store.Import(ctx, wanted, file, s.Progress)
		return err
	})
	if err != nil {
		return err
	}
	c.replayed(done.Replayed)
	return c.writeJSON(api.ShowImported(&wanted, &done))
}

// importing reads the file of the call, waits until no other import of the caller's rank
// is under way, and imports it. Each import takes memory for all of its lines. Errors:
// CodeOverloaded, those of the body, and those of do.
func (c call) importing(do func(context.Context, io.Reader) error) error {
	bounds, limits := &c.server.bounds, &c.server.limits
	leave, err := c.take(bounds.Imports, 1, "a file is imported already, which is the most at once")
	if err != nil {
		c.leaveBody()
		return err
	}
	defer leave()
	file, err := c.readImport()
	if err != nil {
		return err
	}
	turn, cancel := c.within(limits.audit)
	defer cancel()
	atWork := bounds.Importing[gate.RankOf(c.caller.Role)]
	if err := atWork.Acquire(turn, 1); err != nil {
		return overloaded(err)
	}
	defer atWork.Release(1)
	ctx, cancel := c.within(limits.audit)
	defer cancel()
	return do(ctx, file)
}

// importWanted reads the parameters of the import, but not its file.
func (c call) importWanted() (draw.Import, error) {
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return draw.Import{}, err
	}
	dry, err := c.word("dry_run", "false", "true")
	if err != nil {
		return draw.Import{}, err
	}
	w := draw.Import{PoolID: c.param("pool"), Reason: importReason, Actor: c.actor(), Key: key, DryRun: dry == "true"}
	w.PresentOnly = c.caller.Role == access.Stock
	if c.query.Has("reason") {
		w.Reason = c.query.Get("reason")
	}
	return w, w.Check()
}

// readImport reads a file of at most api.FileMax. A file has a longer timeout than
// other bodies, for its arrival and for its import. If the server has no bounds,
// readImport returns the body, which is read while it is used.
func (c call) readImport() (io.Reader, error) {
	if c.server.Unbounded {
		return c.gin.Request.Body, nil
	}
	limits := &c.server.limits
	_ = nethttp.NewResponseController(c.gin.Writer).SetReadDeadline(time.Now().Add(limits.page))
	c.unhurried(limits.page + 2*limits.audit + limits.page)
	file, err := readBody(c.gin.Request, make([]byte, 0, bufferSize), api.FileMax)
	return bytes.NewReader(file), err
}

// copyPool answers POST /admin/pools/{pool}/copy. It may plan as many items as a file.
func (s *Server) copyPool(c call) error {
	var body api.PoolCopy
	if err := s.decode(c.gin.Request, &body); err != nil {
		return err
	}
	wanted, err := body.Read()
	if err != nil {
		return err
	}
	ctx, done, err := c.beginLong()
	if err != nil {
		return err
	}
	defer done()
	copied, planned, err := s.Store.CopyPool(ctx, c.param("pool"), wanted, c.actor())
	if err != nil {
		return err
	}
	s.dropCopies(copied.ID)
	c.created("/admin/pools/" + copied.ID)
	return c.writeJSON(api.CopiedPool{Pool: c.showPool(&copied), Planned: api.ShowEach(planned, func(p *draw.Planned) api.CopiedList {
		return api.CopiedList{Item: p.First, Count: p.Count, Version: p.Version, SHA256: p.Seal.SHA256, Salt: p.Seal.Salt}
	})})
}
