package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
)

// StatementName is the name of the job that writes statements.
const StatementName = "statement"

// Line is a statement's line for one prize on one local day.
type Line struct {
	Pool string
	// Day is a local day in the zone of the job's schedule, as 2006-01-02.
	Day   string
	Prize string
	// Issued is the number of units that were issued on that day. Remaining is the number
	// of units that are left at its end. Value is the value of the issued units.
	Issued    int64
	Remaining int64
	// IsEndless means that the prize is an endless blank: Remaining is not to be shown.
	IsEndless bool
	Value     decimal.Decimal
	// ToVersion is the last version of the pool that belongs to the day.
	ToVersion int64
}

// DaysMax is the maximum number of days of a pool that are written at once.
const DaysMax = 400

// Stated reads the rows that a statement covers, and writes the lines.
type Stated interface {
	PoolIDs(ctx context.Context) ([]string, error)
	// StateDays writes the lines of a pool's finished days that have no lines yet. Days are
	// local to the run's zone, and the run fences the writes. It returns the number of
	// written days, at most DaysMax; 0 means that no day is left.
	StateDays(ctx context.Context, run Run, poolID string) (int, error)
}

// statementMax is the maximum time of a run.
const statementMax = time.Hour

// Statement returns the job that writes a line for each pool, local day and prize. It
// fires at 01:00, 02:00 and 03:00 and succeeds once a day. A day begins and ends between
// two versions, so that each award counts on one day.
func Statement(store Stated) Definition {
	return Definition{
		Name: StatementName, Schedule: "0 1,2,3 * * *", Per: PerDay, Max: statementMax,
		Do: func(ctx context.Context, run Run) ([]byte, error) {
			pools, err := store.PoolIDs(ctx)
			if err != nil {
				return nil, err
			}
			report := struct {
				Pools int `json:"pools"`
				Days  int `json:"days"`
			}{}
			for _, id := range pools {
				n, err := stateAll(ctx, store, run, id)
				if draw.CodeOf(err) == draw.CodePoolNotFound {
					continue // deleted meanwhile
				}
				if err != nil {
					return nil, fmt.Errorf("statement of pool %s: %w", id, err)
				}
				report.Pools++
				report.Days += n
			}
			return json.Marshal(report)
		},
	}
}

// stateAll writes the statements of a pool's finished days, and returns their number.
func stateAll(ctx context.Context, store Stated, run Run, poolID string) (days int, err error) {
	for ctx.Err() == nil {
		n, err := store.StateDays(ctx, run, poolID)
		if days += n; n == 0 || err != nil {
			return days, err
		}
	}
	return days, ctx.Err()
}
