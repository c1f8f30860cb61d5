// Package audit judges a pool's rows: whether its log, its counters, its agenda and the
// turns of its users agree with each other and with the rules that were in force.
package audit

import (
	"context"
	"database/sql"

	"drawsvc/internal/stock/ledger"
)

// Auditor audits the pools of a ledger.
type Auditor struct {
	ledger *ledger.Ledger
	others []Others
}

// Others checks what another package stores of a pool, in a snapshot, and calls found with
// each rule that it breaks.
type Others func(ctx context.Context, tx *sql.Tx, poolID string, found func(rule, format string, args ...any)) error

// New returns the auditor of a ledger, and of what other packages store of pools.
func New(l *ledger.Ledger, others ...Others) *Auditor { return &Auditor{l, others} }
