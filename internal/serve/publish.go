package serve

import (
	"context"
	"errors"
	"maps"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/publish"
	"drawsvc/internal/stock"
)

// PublicPools implements publish.Database.
type PublicPools struct {
	Store  *stock.Store
	PoolID string
	Known  map[string]*stock.Publishing
	// HandTo, if not nil, stores a checkpoint that the store cannot write itself.
	HandTo func(ctx context.Context, poolID string, note []byte) error
}

// Heads implements publish.Database.
func (p *PublicPools) Heads(ctx context.Context) (heads []publish.Head, err error) {
	found, err := p.Store.PublicHeads(ctx, p.PoolID)
	for _, h := range found {
		heads = append(heads, publish.Head(h))
	}
	if err == nil { // secrets that were destroyed in the database are dropped here too
		maps.DeleteFunc(p.Known, func(id string, _ *stock.Publishing) bool {
			return !slices.ContainsFunc(found, func(h stock.PublicHead) bool { return h.PoolID == id })
		})
	}
	return heads, err
}

// Pool implements publish.Database.
func (p *PublicPools) Pool(ctx context.Context, id string) (*publish.Pool, error) {
	of := p.Known[id]
	if of == nil {
		var err error
		if of, err = p.Store.Publishing(ctx, id); err != nil {
			return nil, err
		}
		p.Known[id] = of
	}
	note, key := of.Commitment()
	return &publish.Pool{Origin: of.Origin(), Commitment: note, Key: key, Sign: of.Sign, Source: publicRows{of.On(p.Store.Store), id, p.HandTo}}, nil
}

// publicRows implements publish.Source.
type publicRows struct {
	*stock.Publishing
	poolID string
	handTo func(ctx context.Context, poolID string, note []byte) error
}

// Keep implements publish.Source.
func (p publicRows) Keep(ctx context.Context, size int64, note []byte) error {
	err := p.Publishing.Keep(ctx, size, note)
	if err == nil && p.handTo != nil {
		err = p.handTo(ctx, p.poolID, note)
	}
	if errors.Is(err, stock.ErrForked) || draw.CodeOf(err) == draw.CodeLogForked {
		return publish.ErrForked
	}
	return err
}
