package serve

import (
	"cmp"
	"context"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/live"
	"drawsvc/internal/stock"
)

// newFeed shows the pools to listeners. They may use half of the connections, so that
// the others remain for draws.
func newFeed(store *stock.Store, connectionsMax int) *live.Feed {
	read := func(ctx context.Context) ([]draw.Overview, error) {
		return store.Overviews(ctx, live.PoolsMax, live.PrizesMax)
	}
	most := cmp.Or(connectionsMax, http.ConnectionsUsual)
	return live.New(read, live.Limits{Listeners: max(1, most/2)})
}
