// Package audit judges a pool's rows: whether its log, its counters, its agenda and the
// turns of its users agree with each other and with the rules that were in force.
package audit

import "drawsvc/internal/stock/ledger"

// Auditor audits the pools of a ledger.
type Auditor struct{ ledger *ledger.Ledger }

// New returns the auditor of a ledger.
func New(l *ledger.Ledger) *Auditor { return &Auditor{l} }
