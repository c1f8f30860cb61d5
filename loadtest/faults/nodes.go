package main

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"

	"drawsvc/loadtest/faults/history"
)

// ruleNodes is broken when a node of a database of several does not hold what
// the others hold.
const ruleNodes = "nodes-differ"

// urlOf is the database URL of an instance.
func (b *base) urlOf(instance int) string {
	if len(b.urls) == 0 {
		return b.url
	}
	return b.urls[instance%len(b.urls)]
}

// everyNode is what has to be looked at where something may be left over.
func (b *base) everyNode() map[string]*sql.DB {
	if len(b.nodes) == 0 {
		return map[string]*sql.DB{"the database": b.admin}
	}
	return b.nodes
}

// checkNodes wants the same rows of a pool on every node, after the time that a
// node may lag behind.
func (t *trial) checkNodes(rows history.Rows) {
	for name, db := range t.nodes {
		said := within(t.ctx, recoverMax, func() string { return t.differs(t.ctx, db, rows) })
		if said != "" {
			t.verdict.Say(ruleNodes, "%s, pool %s: %s", name, rows.Pool, said)
		}
	}
}

// differs says how a node's rows of a pool differ from the given ones.
func (t *trial) differs(ctx context.Context, db *sql.DB, want history.Rows) string {
	have, err := history.Read(ctx, db, want.Pool, t.numbered(), t.program == textbook)
	switch {
	case err != nil:
		return err.Error()
	case len(have.Awards) != len(want.Awards) || have.Version != want.Version:
		return fmt.Sprintf("%d awards at version %d, and %d at version %d elsewhere", len(have.Awards), have.Version, len(want.Awards), want.Version)
	case !reflect.DeepEqual(have, want):
		return "as many rows as elsewhere, but others"
	}
	return ""
}
