package http

import (
	nethttp "net/http"

	"github.com/gin-gonic/gin"

	"drawsvc/internal/draw"
)

// addPrize answers POST /admin/pools/{pool}/prizes. A prize has no address of
// its own: Location is the pool's, which shows it.
func (s *Server) addPrize(c *gin.Context) {
	poolID, err := poolParam(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	var body prizeBody
	if err := s.decode(c.Request, &body); err != nil {
		s.fail(c, err)
		return
	}
	wanted, err := body.prize()
	if err != nil {
		s.fail(c, err)
		return
	}
	ctx, cancel := s.within(c)
	defer cancel()
	prize, err := s.Stocker.AddPrize(ctx, poolID, wanted)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Writer.Header().Set("Location", "/admin/pools/"+poolID)
	s.writeJSON(c, nethttp.StatusCreated, newAdminPrize(&prize))
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
	Version   int64  `json:"version"`
	At        string `json:"at"`
	Stocked   int64  `json:"stocked"`
	Issued    int64  `json:"issued"`
	Remaining int64  `json:"remaining"`
	Replayed  bool   `json:"replayed"`
}

func (s *Server) stocking(c *gin.Context) (draw.Stocking, error) {
	var wanted draw.Stocking
	var err error
	if wanted.PoolID, err = poolParam(c); err != nil {
		return wanted, err
	}
	if wanted.PrizeID, err = idParam(c, "prize"); err != nil {
		return wanted, err
	}
	if wanted.Key, err = idempotencyKey(c.Request.Header); err != nil {
		return wanted, err
	}
	var body stockBody
	if err := s.decode(c.Request, &body); err != nil {
		return wanted, err
	}
	wanted.Delta, wanted.Reason = body.Delta, body.Reason
	return wanted, wanted.Check()
}

// stock answers POST /admin/pools/{pool}/prizes/{prize}/stock.
func (s *Server) stock(c *gin.Context) {
	wanted, err := s.stocking(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	ctx, cancel := s.within(c)
	defer cancel()
	m, err := s.Stocker.Stock(ctx, wanted)
	if err != nil {
		s.fail(c, err)
		return
	}
	if m.Replayed {
		c.Writer.Header().Set("Idempotent-Replayed", "true")
	}
	s.writeJSON(c, nethttp.StatusOK, stockAnswer{
		Pool: m.PoolID, Prize: m.PrizeID, Delta: m.Delta, Reason: m.Reason, Version: m.Version,
		At: formatTime(m.At), Stocked: m.Stocked, Issued: m.Issued, Remaining: m.Stocked - m.Issued,
		Replayed: m.Replayed,
	})
}
