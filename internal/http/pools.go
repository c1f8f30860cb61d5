package http

import (
	"context"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Pools makes, lists and changes pools.
type Pools interface {
	CreatePool(ctx context.Context, p draw.Pool, actor string) (draw.Pool, error)
	// PoolPage returns at most limit pools that are not archived, with ids above
	// after, in order of their ids.
	PoolPage(ctx context.Context, after string, limit int, archived bool) ([]draw.Pool, error)
	ChangePool(ctx context.Context, poolID string, change draw.PoolChange, actor string) (draw.Pool, error)
}

// Deleter removes pools that have never issued a unit.
type Deleter interface {
	DeletePool(ctx context.Context, poolID string, revisions []int64, actor string) error
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

// adminPools answers GET /admin/pools.
func (s *Server) adminPools(ctx context.Context, c call) (api.Pools, error) {
	after := c.query.Get("after")
	if after != "" {
		if err := draw.CheckID("after", after); err != nil {
			return api.Pools{}, err
		}
	}
	limit, err := c.number("limit", 1, api.PageMax, api.PageUsual)
	if err != nil {
		return api.Pools{}, err
	}
	archived, err := c.word("archived", "false", "true")
	if err != nil {
		return api.Pools{}, err
	}
	// One more than asked for says whether there is a next page.
	pools, err := s.Store.PoolPage(ctx, after, int(limit)+1, archived == "true")
	var next *string
	if int64(len(pools)) > limit {
		pools = pools[:limit]
		next = &pools[limit-1].ID
	}
	return api.Pools{Pools: api.ShowEach(pools, api.ShowPool), Next: next}, err
}

// adminPool answers GET /admin/pools/{pool}.
func (s *Server) adminPool(ctx context.Context, c call) (api.Pool, error) {
	pool, err := s.Store.Pool(ctx, c.param("pool"))
	if err != nil {
		return api.Pool{}, err
	}
	return c.showPool(&pool), nil
}

// showPool is the answer that shows a pool, whose tag is the pool's revision.
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

// ifMatch returns the revisions that If-Match names: nil, which is every one,
// without the header, and present for *, which stands for what there is. What is no
// revision's tag is none, as is a weak tag.
func ifMatch(h nethttp.Header, present []int64) []int64 {
	lines := h["If-Match"]
	if len(lines) == 0 {
		return nil
	}
	revisions := []int64{}
	for tag := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		tag = plainTag(strings.TrimSpace(tag))
		if tag == "*" {
			return present
		}
		text, isQuoted := strings.CutPrefix(strings.TrimSuffix(tag, `"`), `"`)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && isQuoted && tag == strconv.Quote(strconv.FormatInt(n, 10)) {
			revisions = append(revisions, n)
		}
	}
	return revisions
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
	c.gin.Writer.WriteHeader(nethttp.StatusNoContent)
	c.gin.Writer.WriteHeaderNow()
	return nil
}
