package http

import (
	"context"
	nethttp "net/http"

	"drawsvc/client"
)

type keptAnswer struct {
	Pool string `json:"pool"`
}

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
	kept, err := placed(ctx, c, func() (keptAnswer, error) {
		return keptAnswer{c.param("pool")}, s.Store.KeepCheckpoint(ctx, c.param("pool"), note)
	})
	if err != nil {
		return err
	}
	return c.writeJSON(kept)
}

// KeepCheckpoint hands a checkpoint that was signed elsewhere to the service. Errors:
// those of the store.
func (a *Admin) KeepCheckpoint(ctx context.Context, poolID string, note []byte) error {
	_, err := fetch[keptAnswer](ctx, a, client.Call{
		Method: nethttp.MethodPut, Path: poolPath(poolID, "proof", "checkpoint"), ContentType: typePlain, Body: note,
	})
	return err
}
