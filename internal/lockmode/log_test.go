package lockmode_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// asLogged returns an error if the answers differ from the log: every answered draw must
// be there with the same awards, and no other draw.
func (y *tally) asLogged(t *testing.T, s *stock.Store, poolID string) error {
	t.Helper()
	awards, err := s.Awards(t.Context(), poolID, 0, 1_000_000)
	require.NoError(t, err)
	logged := map[string][]draw.Award{}
	for _, a := range awards {
		logged[a.DrawID] = append(logged[a.DrawID], a)
	}
	for id, d := range y.won {
		if err := sameAwards(d.Awards, logged[id]); err != nil {
			return fmt.Errorf("draw %s: %w", id, err)
		}
	}
	if len(logged) != len(y.won) {
		return fmt.Errorf("%d draws are in the log, %d were answered", len(logged), len(y.won))
	}
	return nil
}

func sameAwards(a, b []draw.Award) error {
	if len(a) != len(b) {
		return fmt.Errorf("answered with %d awards, logged with %d", len(a), len(b))
	}
	for i := range a {
		x, y := a[i], b[i]
		if !x.At.Equal(y.At) || !x.Value.Equal(y.Value) {
			return fmt.Errorf("answered %v, logged %v", x, y)
		}
		x.At, x.Value = y.At, y.Value
		if x != y {
			return fmt.Errorf("answered %v, logged %v", x, y)
		}
	}
	return nil
}

// audited returns the rules that the rows violate.
func audited(t *testing.T, s *stock.Store, poolID string) (err error) {
	t.Helper()
	audit, failed := s.Audit(t.Context(), poolID)
	require.NoError(t, failed)
	for _, v := range audit.Violations {
		err = errors.Join(err, fmt.Errorf("%s: %s", v.Rule, v.Detail))
	}
	return err
}
