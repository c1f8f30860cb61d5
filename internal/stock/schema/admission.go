package schema

import (
	"context"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
)

// admission is what the service last learned about its schema. Draws, changes
// and the check of readiness share it, so that they agree.
type admission struct {
	// refusal is why the schema does not let this binary work; nil as long as
	// it does, and while nobody has read it.
	refusal atomic.Pointer[draw.Error]
	// reading lets one at a time read the schema: no older reading can take
	// the place of a newer one.
	reading chan struct{}
	// current and admitsFrom are those of the last reading.
	current, admitsFrom int64
}

func newAdmission() admission { return admission{reading: make(chan struct{}, 1)} }

// Admits returns why nothing may be written now, nil when it may. It costs no
// question to the database. Error: CodeStoreUnavailable.
func (k *Keeper) Admits() error {
	if refusal := k.admission.refusal.Load(); refusal != nil {
		return refusal
	}
	return nil
}

// CheckSchema reads the schema and says whether this binary can work on it.
// From then on draws and changes are refused, or not, by what was read. A
// database that does not answer changes nothing for them. Error:
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

// logSchema tells of a schema that is not the one that this binary brings.
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
	// schemaEvery is how often a service reads the schema: the longest that
	// draws go on after a migration that excludes this binary.
	schemaEvery = time.Second
	// schemaMax bounds one reading.
	schemaMax = 5 * time.Second
)

// Watch has the schema checked about once a second until the database is closed. It is
// called once, before the keeper is used by others.
func (k *Keeper) Watch() {
	k.engine.WhileOpen(schemaEvery, func(ctx context.Context) {
		reading, end := context.WithTimeout(ctx, schemaMax)
		defer end()
		_ = k.CheckSchema(reading) // its verdict is kept; when there is none, the last one holds
	})
}
