package stock

import (
	"drawsvc/internal/stock/agenda"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/publiclog"
	"drawsvc/internal/stock/schema"
	"drawsvc/internal/stock/sqlitefile"
)

// The types that callers send to a database and receive from it: see package engine.
type (
	// Committing is a request to commit a pool to its numbers.
	Committing = publiclog.Committing
	// PublicHead is the state of a committed pool.
	PublicHead = publiclog.PublicHead
	// SignedHead states how much of the log of a committed pool is signed.
	SignedHead = publiclog.SignedHead
	// Publishing reads and signs the public log of one committed pool.
	Publishing = publiclog.Publishing
	// Schema describes a database's schema by its version, together with the versions
	// that this binary knows.
	Schema = schema.Schema
)

// ErrForked means that the root of a pool's rows differs from a signed root.
var ErrForked = publiclog.ErrForked

// ErrInUse means that another process has the file of an embedded database.
var ErrInUse = sqlitefile.ErrInUse

// The kinds with which Options.Due is called for items that were not carried out.
const (
	// ItemFailed counts items that could not be carried out.
	ItemFailed = agenda.ItemFailed
	// ItemLapsed counts items whose pool was closed before they were due.
	ItemLapsed = agenda.ItemLapsed
)

// Tables returns the names of all tables that the migrations create.
func Tables() []string { return schema.Tables() }

// WriteRefusals lists the possible results of [Store.WriteRefusal].
func WriteRefusals() []string { return engine.WriteRefusals() }
