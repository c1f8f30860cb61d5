package schema

import (
	"context"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
)

// admission is the result of the service's last read of its schema. Draws, changes and
// the readiness check share it, so that they agree.
type admission struct {
	// refusal is why the schema excludes this binary; nil if it does not, and before
	// the first reading.
	refusal atomic.Pointer[draw.Error]
	// reading allows one reading of the schema at a time: an older reading cannot
	// replace a newer one.
	reading chan struct{}
	// current and admitsFrom are those of the last reading.
	current, admitsFrom int64
}

func newAdmission() admission { return admission{reading: make(chan struct{}, 1)} }

// Admits returns why nothing may be written now, nil if it may. It sends no query.
// Error: CodeStoreUnavailable.
func (k *Keeper) Admits() error {
	if refusal := k.admission.refusal.Load(); refusal != nil {
		return refusal
	}
	return nil
}

// CheckSchema reads the schema and returns an error if this binary cannot work on it.
// From then on, the result determines whether draws and changes are refused. If the
// database does not answer, nothing changes for them. Error: CodeStoreUnavailable.
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

// logSchema logs a schema that differs from this binary's own.
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
	// schemaEvery is how often a service reads the schema: draws continue for at most
	// that long after a migration that excludes this binary.
	schemaEvery = time.Second
	// schemaMax bounds one reading.
	schemaMax = 5 * time.Second
)

// Watch checks the schema about once a second until the database is closed. It is
// called once, before the keeper is used by others.
func (k *Keeper) Watch() {
	k.engine.WhileOpen(schemaEvery, func(ctx context.Context) {
		reading, end := context.WithTimeout(ctx, schemaMax)
		defer end()
		_ = k.CheckSchema(reading) // its result is kept; without a result, the last one remains
	})
}
