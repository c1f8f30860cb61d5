package http

import (
	"context"
	nethttp "net/http"
	"time"

	"github.com/gin-gonic/gin"

	"drawsvc/internal/draw"
)

// readyMax is the longest that a check of readiness may take.
const readyMax = 2 * time.Second

type healthAnswer struct {
	Status string `json:"status"`
}

// live says that the process answers, and nothing more: a database that is
// down is no reason to restart the service.
func (s *Server) live(c *gin.Context) {
	s.writeJSON(c, nethttp.StatusOK, healthAnswer{"live"})
}

// ready says whether draws would be taken.
func (s *Server) ready(c *gin.Context) {
	if s.gate.closed() {
		s.fail(c, draw.Errorf(draw.CodeDraining, "the service is shutting down and takes no new draws"))
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyMax)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		s.fail(c, draw.Wrap(draw.CodeStoreUnavailable, err, "the service is not ready"))
		return
	}
	s.writeJSON(c, nethttp.StatusOK, healthAnswer{"ready"})
}
