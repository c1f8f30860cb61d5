package serve

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
)

// redirectCounter counts the redirects of the draws that it passes on. A draw whose
// answer was read from the log is not counted, because that answer contains no redirect.
type redirectCounter struct {
	http.Drawer
	redirects *prometheus.CounterVec
}

func countRedirects(d http.Drawer, r prometheus.Registerer) *redirectCounter {
	c := &redirectCounter{d, promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "drawsvc_redirects_total", Help: "Awards that rules have given in place of what was drawn, by reason.",
	}, []string{"why"})}
	for _, why := range []draw.Why{draw.WhySoldOut, draw.WhyLimit, draw.WhyBudget, draw.WhyGuarantee, draw.WhyMoment} {
		c.redirects.WithLabelValues(string(why)) // present from the first scrape on
	}
	return c
}

// DrawFor implements http.Drawer.
func (c *redirectCounter) DrawFor(ctx context.Context, requestID string, r draw.Request) (draw.Draw, error) {
	made, err := c.Drawer.DrawFor(ctx, requestID, r)
	if made.Replayed {
		return made, err
	}
	for i := range made.Awards {
		if redirect := made.Awards[i].Redirect; redirect != nil {
			c.redirects.WithLabelValues(string(redirect.Why)).Inc()
		}
	}
	return made, err
}
