package http

import (
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

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
