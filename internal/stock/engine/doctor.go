package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Level is how much a finding of a check-up matters.
type Level string

// The levels, from the worst.
const (
	// LevelDanger means that a promise of the service does not hold, or will soon not
	// hold.
	LevelDanger Level = "danger"
	// LevelWarning means that the promises hold, at a price that may surprise.
	LevelWarning Level = "warning"
	// LevelNote is worth knowing.
	LevelNote Level = "note"
)

// Finding is something that a check-up found in the database.
type Finding struct {
	Level Level
	// Rule is a short, stable word, such as "fsync".
	Rule string
	// Detail is the finding, Why is the endangered promise, and Remedy is the advice.
	Detail, Why, Remedy string
}

// Serving describes to a check-up how the service will run.
type Serving struct {
	// Lock is the scheme of the external lock that the mode external uses, such as
	// "table".
	Lock string
	// LockTTL is the lease of that lock, and LockWait is the maximum wait for it.
	LockTTL, LockWait time.Duration
}

// Doctor holds the parts of a check-up that one kind of database provides.
type Doctor struct {
	// Vitals reads the settings and states that the rules need, as a session of the
	// service sees them. tables are the names of the service's tables.
	Vitals func(ctx context.Context, e *Engine, tables []string) (Vitals, error)
	Rules  func() []Rule
}

// Vitals are settings and states of a database by their names.
type Vitals map[string]string

// Has reports whether a setting has one of the values, ignoring case.
func (v Vitals) Has(name string, values ...string) bool {
	return slices.ContainsFunc(values, func(bad string) bool { return strings.EqualFold(v[name], bad) })
}

// Shorter compares the time limit called name with the parameter than, the time that a
// statement may take. It returns a finding if the limit is shorter, otherwise "". The
// setting counts in unit, and 0 means no limit.
func (v Vitals) Shorter(name string, unit, than time.Duration) string {
	limit, err := time.ParseDuration(v[name] + "s")
	if err != nil {
		return "" // there is no such setting
	}
	limit = time.Duration(limit.Seconds() * float64(unit))
	if limit <= 0 || limit >= than {
		return ""
	}
	return fmt.Sprintf("%s = %s", name, limit)
}

// Rule describes one possible fault of a database.
type Rule struct {
	Name  string
	Level Level
	// Broken returns what is wrong, "" for nothing.
	Broken      func(v Vitals, o Serving) string
	Why, Remedy string
	// LosesVersions is set if a failover may lose versions.
	LosesVersions bool
}

// LosingVersions returns the rule with LosesVersions set.
func (r Rule) LosingVersions() Rule {
	r.LosesVersions = true
	return r
}

// NewRule returns a rule of a database.
func NewRule(name string, level Level, broken func(v Vitals, o Serving) string, why, remedy string) Rule {
	return Rule{Name: name, Level: level, Broken: broken, Why: why, Remedy: remedy}
}

// Standbys is the state of the replication of a database.
type Standbys struct {
	// Connected is the number of standbys, replicas or other nodes that are connected to
	// the server; 0 if the server itself is a standby.
	Connected int
	// Required is how many standbys must confirm a commit, according to the server's
	// settings.
	Required int
}
