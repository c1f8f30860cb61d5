package http

import (
	"context"
	"io"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

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
func (s *Server) createPool(ctx context.Context, c call, body *poolBody) (adminPoolAnswer, error) {
	if body.Mode != nil {
		if err := s.checkMode(*body.Mode); err != nil {
			return adminPoolAnswer{}, err
		}
	}
	wanted, err := body.pool()
	if err != nil {
		return adminPoolAnswer{}, err
	}
	made, err := s.Store.CreatePool(ctx, wanted, c.actor())
	if err != nil {
		return adminPoolAnswer{}, err
	}
	s.dropCopies(made.ID)
	c.created("/admin/pools/" + made.ID)
	return c.showPool(&made), nil
}

type adminPoolsAnswer struct {
	Pools []adminPoolAnswer `json:"pools"`
	// Next is the after of the next page, null when this is the last.
	Next *string `json:"next"`
}

type adminPoolAnswer struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	State draw.State `json:"state"`
	// Mode is null when the pool uses the service's own.
	Mode     *string `json:"mode"`
	Version  int64   `json:"version"`
	Revision int64   `json:"revision"`
	// Rules is the version of the rules in force, 0 for none.
	Rules int64 `json:"rules"`
	// Committed is the version of the pool's commitment, 0 for none.
	Committed int64 `json:"committed"`
	Archived  bool  `json:"archived"`
	// Opening is the round that a pool with a beacon is announced to open with,
	// left out for none.
	Opening *openingAnswer     `json:"opening,omitzero"`
	Prizes  []adminPrizeAnswer `json:"prizes"`
}

type openingAnswer struct {
	Round int64  `json:"round"`
	At    string `json:"at"`
}

type adminPrizeAnswer struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Value string    `json:"value"`
	Kind  draw.Kind `json:"kind"`
	// Stocked and Remaining are null for an endless blank.
	Stocked   *int64 `json:"stocked"`
	Issued    int64  `json:"issued"`
	Remaining *int64 `json:"remaining"`
}

func newAdminPool(p *draw.Pool) adminPoolAnswer {
	var mode *string
	if p.Mode != "" {
		mode = &p.Mode
	}
	a := adminPoolAnswer{p.ID, p.Name, p.State, mode, p.Version, p.Revision, p.RulesVersion, p.Committed, p.Archived, nil, each(p.Prizes, newAdminPrize)}
	if p.Round != 0 {
		a.Opening = &openingAnswer{p.Round, formatTime(p.RoundAt)}
	}
	return a
}

// WritePool writes a pool as a line of JSON, as GET /admin/pools/{pool} answers.
// Errors are those of w.
func WritePool(w io.Writer, p *draw.Pool) error { return writeLine(w, newAdminPool(p)) }

// WritePools writes pools as the last page of GET /admin/pools. Errors are those
// of w.
func WritePools(w io.Writer, pools []draw.Pool) error {
	return writeLine(w, adminPoolsAnswer{Pools: each(pools, newAdminPool)})
}

func newAdminPrize(p *draw.Prize) adminPrizeAnswer {
	a := adminPrizeAnswer{ID: p.ID, Name: p.Name, Value: p.Value.StringFixed(2), Kind: kindOf(p), Issued: p.Issued}
	if !p.IsEndless() {
		stocked, remaining := p.Stocked, p.Remaining()
		a.Stocked, a.Remaining = &stocked, &remaining
	}
	return a
}

// adminPools answers GET /admin/pools.
func (s *Server) adminPools(ctx context.Context, c call) (adminPoolsAnswer, error) {
	after := c.query.Get("after")
	if after != "" {
		if err := draw.CheckID("after", after); err != nil {
			return adminPoolsAnswer{}, err
		}
	}
	limit, err := c.number("limit", 1, limitMax, limitUsual)
	if err != nil {
		return adminPoolsAnswer{}, err
	}
	archived, err := c.word("archived", "false", "true")
	if err != nil {
		return adminPoolsAnswer{}, err
	}
	// One more than asked for says whether there is a next page.
	pools, err := s.Store.PoolPage(ctx, after, int(limit)+1, archived == "true")
	var next *string
	if int64(len(pools)) > limit {
		pools = pools[:limit]
		next = &pools[limit-1].ID
	}
	return adminPoolsAnswer{each(pools, newAdminPool), next}, err
}

// adminPool answers GET /admin/pools/{pool}.
func (s *Server) adminPool(ctx context.Context, c call) (adminPoolAnswer, error) {
	pool, err := s.Store.Pool(ctx, c.param("pool"))
	if err != nil {
		return adminPoolAnswer{}, err
	}
	return c.showPool(&pool), nil
}

// showPool is the answer that shows a pool, whose tag is the pool's revision.
func (c call) showPool(p *draw.Pool) adminPoolAnswer {
	c.gin.Writer.Header().Set("ETag", strconv.Quote(strconv.FormatInt(p.Revision, 10)))
	return newAdminPool(p)
}

// changePool answers PATCH /admin/pools/{pool}.
func (s *Server) changePool(ctx context.Context, c call, body *changeBody) (adminPoolAnswer, error) {
	change, err := s.change(body)
	if err != nil {
		return adminPoolAnswer{}, err
	}
	change.Revisions = ifMatch(c.gin.Request.Header, nil)
	pool, err := s.Store.ChangePool(ctx, c.param("pool"), change, c.actor())
	if err != nil {
		return adminPoolAnswer{}, err
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
