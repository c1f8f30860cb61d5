package http

import (
	"context"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Stocker adds prizes and moves stock.
type Stocker interface {
	AddPrize(ctx context.Context, poolID string, p draw.Prize, actor string) (draw.Prize, error)
	ChangePrize(ctx context.Context, poolID, prizeID string, change draw.PrizeChange, actor string) (draw.Prize, error)
	Stock(ctx context.Context, s draw.Stocking, actor string) (draw.Move, error)
}

// addPrize answers POST /admin/pools/{pool}/prizes. A prize has no address of
// its own: Location is the pool's, which shows it.
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
