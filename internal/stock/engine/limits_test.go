package engine

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePageCountsConnections: docs/capacity.md states how many connections an instance
// opens, and how many instances a server with default settings can serve.
func TestThePageCountsConnections(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/capacity.md")
	require.NoError(t, err)
	together := ConnectionsMax + AdminConnections + ReadConnections + ProbeConnections
	for _, row := range []string{
		fmt.Sprintf("| draws | %d |", ConnectionsMax),
		fmt.Sprintf("| changes, jobs | %d |", AdminConnections),
		fmt.Sprintf("| reads, audits, exports | %d |", ReadConnections),
		fmt.Sprintf("| `/readyz` | %d |", ProbeConnections),
		fmt.Sprintf("| **together** | **%d** |", together),
		fmt.Sprintf("(`table:`, `row:`, `session:`) | %d more |", ConnectionsMax),
		fmt.Sprintf("| server | instances, at %d |", together),
		fmt.Sprintf("| PostgreSQL, `max_connections = 100` (default; 3 are reserved) | %d |", (100-3)/together),
		fmt.Sprintf("| MySQL, MariaDB, `max_connections = 151` (default) | %d |", 151/together),
		fmt.Sprintf("| 400 | %d |", (400-3)/together),
	} {
		require.Contains(t, string(text), row)
	}
}
