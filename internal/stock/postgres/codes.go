package postgres

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
)

// writtenCodes are the awards of a write that have codes. The units of a prize in a
// write are consecutive, so they are one range of places.
type writtenCodes struct {
	prizes      []string
	first, last []int64
	// awards are those of each prize, in the order of their units.
	awards [][]*draw.Award
	place  map[string]int // of a prize in the lists
}

// codesOf returns the awards of a plan that have codes.
func codesOf(p *urn.Plan) *writtenCodes {
	c := &writtenCodes{}
	for i := range p.Awards {
		a := &p.Awards[i]
		if !a.HasCode {
			continue
		}
		at, known := c.place[a.PrizeID]
		if !known {
			if c.place == nil {
				c.place = map[string]int{}
			}
			at = len(c.prizes)
			c.place[a.PrizeID] = at
			c.prizes, c.first, c.last = append(c.prizes, a.PrizeID), append(c.first, a.Unit), append(c.last, a.Unit-1)
			c.awards = append(c.awards, nil)
		}
		if a.Unit == c.last[at]+1 { // HandOut reads the codes of other units
			c.last[at] = a.Unit
			c.awards[at] = append(c.awards[at], a)
		}
	}
	return c
}

func (c *writtenCodes) isEmpty() bool { return len(c.prizes) == 0 }

// queueCodes adds the read of the codes to a pipeline, after its COMMIT: the server
// executes it only if the COMMIT has succeeded. It has the limits of a transaction: it
// does not wait long for a lock, and the plan that the session keeps finds codes by their
// key, even if it was made while the table was small.
func (tx *attempt) queueCodes(batch *pgx.Batch, p *urn.Plan, c *writtenCodes) {
	if c.isEmpty() {
		return
	}
	batch.Queue(tx.limits)
	batch.Queue(sqlWrittenCodes, p.PoolID, c.prizes, c.first, c.last, p.To.Mark)
}

// read reads the response to queueCodes into the awards.
func (c *writtenCodes) read(results pgx.BatchResults) error {
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	var prizeID, keyID engine.Word
	var number int64
	var sealed engine.Bytes
	_, err = pgx.ForEachRow(rows, []any{&prizeID, &number, &keyID, &sealed}, func() error {
		at := c.place[string(prizeID)]
		c.awards[at][number-c.first[at]].Sealed = &draw.SealedCode{KeyID: string(keyID), Bytes: slices.Clone(sealed)}
		return nil
	})
	return err
}

// end reads the codes after a COMMIT that was acknowledged, and closes the results. An
// error here does not make the COMMIT doubtful: HandOut reads the codes that are not read
// here.
func (c *writtenCodes) end(results pgx.BatchResults) error {
	if c.isEmpty() {
		return results.Close()
	}
	//double:doubts-unread _ = errors.Join(c.read(results), results.Close()) => if err := errors.Join(c.read(results), results.Close()); err != nil { return err }
	_ = errors.Join(c.read(results), results.Close())
	return nil
}
