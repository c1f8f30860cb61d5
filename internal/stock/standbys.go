package stock

import (
	"context"

	"drawsvc/internal/stock/engine"
)

// Standbys is the state of the replication of a database.
type Standbys = engine.Standbys

// ReadStandbys reads the state of the replication. It is zero for a database without
// replication. Errors: CodeStoreUnavailable if the database does not answer.
func (s *Store) ReadStandbys(ctx context.Context) (Standbys, error) {
	if s.engine.Standbys == nil {
		return Standbys{}, nil
	}
	found, err := s.engine.Standbys(ctx, s.engine)
	if err != nil {
		return Standbys{}, engine.PublicRead(engine.Classify(err, s.engine.ByCode))
	}
	return found, nil
}
