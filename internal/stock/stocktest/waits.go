package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// testLockWaits: if another session holds a row, that is soon reported as busy.
func testLockWaits(t *testing.T, s *stock.Store) {
	if s.Dialect() == "sqlite" {
		testWriterWaits(t, s)
		return
	}
	Pool(t, s, "p", 10)
	other, err := s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{Lock: true})
	require.NoError(t, err)
	start := time.Now()
	_, err = s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{Lock: true})
	class(t, stock.ClassConflict, err)
	require.Less(t, time.Since(start), 20*time.Second, "the servers' own limits are longer, or none")
	class(t, stock.ClassConflict, Write(t, s, stock.TxOptions{}, Plan("p", 2, "a", 0, "d1")))
	other.Rollback()
	require.NoError(t, Write(t, s, stock.TxOptions{Lock: true}, Plan("p", 2, "a", 0, "d1")))
}

// testWriterWaits: a wait for SQLite's only writer ends with the context.
func testWriterWaits(t *testing.T, s *stock.Store) {
	Pool(t, s, "p", 10)
	first, err := s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{Lock: true})
	require.NoError(t, err)
	done := make(chan error)
	go func() { done <- Write(t, s, stock.TxOptions{Lock: true}, Plan("p", 2, "a", 0, "d1")) }()
	select {
	case err := <-done:
		t.Fatalf("two writers at once: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	first.Rollback()
	require.NoError(t, <-done)
}
