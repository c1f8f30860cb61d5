package http

import (
	"context"

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
func (s *Server) addPrize(ctx context.Context, c call, body *prizeBody) (adminPrizeAnswer, error) {
	wanted, err := body.prize()
	if err != nil {
		return adminPrizeAnswer{}, err
	}
	prize, err := s.Store.AddPrize(ctx, c.param("pool"), wanted, c.actor())
	if err != nil {
		return adminPrizeAnswer{}, err
	}
	c.created("/admin/pools/" + c.param("pool"))
	return newAdminPrize(&prize), nil
}

// correctionBody is the body of PATCH …/prizes/{prize}.
type correctionBody struct {
	Name  *string `json:"name,omitzero"`
	Value *string `json:"value,omitzero"`
}

// changePrize answers PATCH /admin/pools/{pool}/prizes/{prize}.
func (s *Server) changePrize(ctx context.Context, c call, body *correctionBody) (adminPrizeAnswer, error) {
	change := draw.PrizeChange{Name: body.Name}
	if body.Value != nil {
		if *body.Value == "" {
			return adminPrizeAnswer{}, draw.Errorf(draw.CodeInvalidRequest, "value is empty")
		}
		value, err := draw.ParseValue(*body.Value)
		if err != nil {
			return adminPrizeAnswer{}, err
		}
		change.Value = &value
	}
	if err := change.Check(); err != nil {
		return adminPrizeAnswer{}, err
	}
	prize, err := s.Store.ChangePrize(ctx, c.param("pool"), c.param("prize"), change, c.actor())
	return newAdminPrize(&prize), err
}

// stockBody is the body of POST …/stock.
type stockBody struct {
	Delta  int64  `json:"delta"`
	Reason string `json:"reason"`
}

type stockAnswer struct {
	Pool      string `json:"pool"`
	Prize     string `json:"prize"`
	Delta     int64  `json:"delta"`
	Reason    string `json:"reason"`
	Actor     string `json:"actor"`
	Version   int64  `json:"version"`
	At        string `json:"at"`
	Stocked   int64  `json:"stocked"`
	Issued    int64  `json:"issued"`
	Remaining int64  `json:"remaining"`
	Replayed  bool   `json:"replayed"`
}

// stock answers POST /admin/pools/{pool}/prizes/{prize}/stock.
func (s *Server) stock(ctx context.Context, c call, body *stockBody) (stockAnswer, error) {
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return stockAnswer{}, err
	}
	wanted := draw.Stocking{PoolID: c.param("pool"), PrizeID: c.param("prize"), Delta: body.Delta, Reason: body.Reason, Key: key}
	if err := wanted.Check(); err != nil {
		return stockAnswer{}, err
	}
	m, err := s.Store.Stock(ctx, wanted, c.actor())
	if err != nil {
		return stockAnswer{}, err
	}
	c.replayed(m.Replayed)
	return stockAnswer{
		Pool: m.PoolID, Prize: m.PrizeID, Delta: m.Delta, Reason: m.Reason, Actor: m.Actor, Version: m.Version,
		At: formatTime(m.At), Stocked: m.Stocked, Issued: m.Issued, Remaining: m.Stocked - m.Issued,
		Replayed: m.Replayed,
	}, nil
}
