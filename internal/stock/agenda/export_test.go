package agenda

import (
	"context"
	"database/sql"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// DoItems carries out items of a pool in one transaction. Just before the last item it
// calls the function before, which may change the locked pool. It returns how many items
// were done or failed.
func (p *Planner) DoItems(ctx context.Context, poolID string, items []draw.Item, before func(*ledger.LockedPool)) (ran int, err error) {
	err = p.ledger.Once(ctx, func(tx *sql.Tx) error {
		of, err := p.ledger.LockRow(ctx, tx, poolID, "anna")
		if err != nil {
			return err
		}
		r := &agendaRun{planner: p, tx: tx, of: of}
		for i := range items {
			if i == len(items)-1 {
				before(of)
			}
			if err := r.do(ctx, &items[i]); err != nil {
				return err
			}
			ran = len(r.ran)
		}
		return nil
	})
	return ran, err
}
