package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// TestDoctorCountsInstances: the doctor compares the connections that the server allows
// with those of the connected processes. The control is a server, or a pool size, with
// room for all connections.
func TestDoctorCountsInstances(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		args []string
		want string
		// scarce leaves too few connections for the two instances.
		scarce func(p *program)
	}{
		"postgres": {
			nil, "connected instances: 2, of up to 210 connections each; the server allows 297",
			func(p *program) { p.vars["DRAWSVC_DATABASE"] += "&pool_max_conns=200" },
		},
		"mysql": {
			[]string{"--performance-schema=on"}, "connected instances: 2, of up to 20 connections each; the server allows 39",
			func(p *program) {
				_, err := rows(p.tb, p.vars["DRAWSVC_DATABASE"]).ExecContext(p.tb.Context(), `SET GLOBAL max_connections = 39`)
				require.NoError(p.tb, err)
			},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t, kind, servertest.Durable(), servertest.Roomy(), servertest.Archived(), servertest.Args(c.args...))
			p := on(t, server.URL())
			p.ok("migrate", "up")
			p.ok("pool", "create", "spring", "--prize", "id=gold,stock=5")
			for range 2 {
				p.start().won("spring", "u", "")
			}
			require.Equal(t, "no danger found\n", p.ok("doctor"))
			c.scarce(&p)
			require.Contains(t, p.ok("doctor"), "warning: max-connections: "+c.want+"\n")
		})
	}
}
