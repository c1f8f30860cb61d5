// Package audit checks a pool's rows: whether its log, its counters, its agenda and the
// turns of its users agree with each other and with the rules that were in force.
package audit

import (
	"context"

	"drawsvc/internal/stock/ledger"
)

// Auditor audits the pools of a ledger.
type Auditor struct {
	ledger *ledger.Ledger
	others []Others
}

// Others begins a check of the rows that another package stores for a pool. The check
// calls found for each broken rule.
type Others func(ctx context.Context, of *ledger.Audited, found ledger.Found) (ledger.Judge, error)

// New returns the auditor of a ledger. others check the rows that other packages store
// for pools.
func New(l *ledger.Ledger, others ...Others) *Auditor { return &Auditor{l, others} }
