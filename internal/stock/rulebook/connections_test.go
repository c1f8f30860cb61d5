package rulebook

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/engine"
)

// TestConnections: the rule counts the connections that one instance opens.
func TestConnections(t *testing.T) {
	t.Parallel()
	rule := Connections()
	require.Empty(t, rule.Broken(engine.Vitals{"max_connections": "100", "threads_connected": "70"}, engine.Serving{}))
	require.Equal(t, "29 of 100 connections are left", rule.Broken(engine.Vitals{"max_connections": "100", "threads_connected": "71"}, engine.Serving{}))
	require.Empty(t, rule.Broken(engine.Vitals{}, engine.Serving{}), "a database that has no such setting")
}
