package schema

import (
	"context"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
)

// admission is the result of the last read of the schema by this service. Draws, changes
// and the readiness check share it, so that they agree.
type admission struct {
	// refusal is the reason why the schema excludes this binary. It is nil if the schema
	// admits the binary, and before the first reading.
	refusal atomic.Pointer[draw.Error]
	// reading allows only one reading of the schema at a time, so that an older reading
	// cannot replace a newer one.
	reading chan struct{}
	// current and admitsFrom are values of the last reading.
	current, admitsFrom int64
}

func newAdmission() admission { return admission{reading: make(chan struct{}, 1)} }

// Admits returns the reason why nothing may be written now, nil if it may. It sends no
// query. Error: CodeStoreUnavailable.
func (k *Keeper) Admits() error {
	if refusal := k.admission.refusal.Load(); refusal != nil {
		return refusal
	}
	return nil
}

// CheckSchema reads the schema and returns an error if this binary cannot work on it.
// From then on, its result determines whether draws and changes are refused. If the
// database does not answer, the last result remains in force. Error:
// CodeStoreUnavailable.
func (k *Keeper) CheckSchema(ctx context.Context) error {
	a := &k.admission
	select {
	case a.reading <- struct{}{}:
		defer func() { <-a.reading }()
	case <-ctx.Done():
		return draw.Wrap(draw.CodeStoreUnavailable, ctx.Err(), "the database does not answer")
	}
	schema, err := k.Schema(ctx)
	if err != nil {
		return err
	}
	err = schema.Check()
	refusal, _ := err.(*draw.Error) //nolint:errorlint // Check makes it
	a.refusal.Store(refusal)
	if schema.Current != a.current || schema.AdmitsFrom != a.admitsFrom {
		a.current, a.admitsFrom = schema.Current, schema.AdmitsFrom
		k.logSchema(schema, err)
	}
	return err
}

// logSchema logs a schema that differs from the one that this binary contains.
func (k *Keeper) logSchema(schema Schema, err error) {
	log := k.log.With("schema", schema.Current, "known", schema.Target, "admits_from", schema.AdmitsFrom)
	switch {
	case err != nil:
		log.Error("the schema does not let this binary work: draws and changes are refused", "error", err)
	case schema.Current > schema.Target:
		log.Info("the schema is newer than this binary, and admits it")
	case schema.Current < schema.Target:
		log.Warn("the schema is older than this binary, which can work on it: run `drawsvc migrate up`")
	}
}

const (
	// schemaEvery is how often a service reads the schema. After a migration that
	// excludes this binary, draws continue for at most that long.
	schemaEvery = time.Second
	// schemaMax bounds one reading.
	schemaMax = 5 * time.Second
)

// Watch checks the schema about once a second until the database is closed. Call it once,
// before others use the keeper.
func (k *Keeper) Watch() {
	k.engine.WhileOpen(schemaEvery, func(ctx context.Context) {
		reading, end := context.WithTimeout(ctx, schemaMax)
		defer end()
		_ = k.CheckSchema(reading) // CheckSchema keeps its result; if it has none, the last one remains
	})
}
