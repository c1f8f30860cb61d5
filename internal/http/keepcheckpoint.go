package http

import "drawsvc/internal/api"

// keepCheckpoint answers PUT /admin/pools/{pool}/proof/checkpoint.
func (s *Server) keepCheckpoint(c call) error {
	if err := checkContentType(c.gin.Request.Header, typePlain); err != nil {
		return err
	}
	note, err := readBody(c.gin.Request, nil, bodyMax)
	if err != nil {
		return err
	}
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	kept, err := placed(ctx, c, func() (api.Kept, error) {
		return api.Kept{Pool: c.param("pool")}, s.Store.KeepCheckpoint(ctx, c.param("pool"), note)
	})
	if err != nil {
		return err
	}
	return c.writeJSON(kept)
}
