package serve

import (
	"context"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/locker"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
)

// checkUpMax bounds a check-up; reading a large SQLite file takes most of it.
const checkUpMax = 10 * time.Minute

// CheckUp refuses locks that `serve` would refuse, and checks the database and the lock
// service.
func CheckUp(ctx context.Context, store *stock.Store, c *Config, url string) ([]checkup.Finding, error) {
	lock := &c.lock
	ctx, cancel := context.WithTimeout(ctx, checkUpMax)
	defer cancel()
	open, err := locker.Open(ctx, lock.url, locker.Options{TTL: lock.ttl, Wait: lock.wait, Database: store})
	if err != nil {
		return nil, err
	}
	found := askLock(ctx, open, lock.url)
	if err := open.Close(); err != nil {
		return nil, err
	}
	more, err := checkup.Run(ctx, store, checkup.Options{Lock: lockScheme(lock.url), LockTTL: lock.ttl, LockWait: lock.wait})
	if err != nil {
		return nil, err
	}
	unbound, err := checkUsers(ctx, store, c)
	if err != nil {
		return nil, err
	}
	found = slices.Concat(found, more, unbound, checkup.Links(url, lock.url, c.jobs.lock), checkCatalogue(&c.jobs), checkFiles(c, url))
	checkup.Sort(found)
	return found, nil
}

// checkUsers finds pools whose rules count users although anybody may draw in any
// user's name.
func checkUsers(ctx context.Context, store *stock.Store, c *Config) ([]checkup.Finding, error) {
	schema, err := store.Schema(ctx)
	if err != nil || schema.Check() != nil || c.tokens.keeper.Set().Has(access.Draw) {
		return nil, err // a schema that does not fit is already among the findings
	}
	rulings, err := store.RulesInForce(ctx)
	var pools []string
	for _, r := range rulings {
		if !r.Rules.Tickets && len(r.Rules.Counted()) > 0 {
			pools = append(pools, r.PoolID)
		}
	}
	if err != nil || len(pools) == 0 {
		return nil, err
	}
	return []checkup.Finding{{
		Level: checkup.LevelWarning, Rule: "users-unproven", Detail: "the rules count users of pools where anybody may draw as any user: " + strings.Join(pools, ", "),
		Why:    "limits and guarantees count users: a caller who enters another name starts again",
		Remedy: `let your own backend draw (--draw-token, or a token of role draw), or write "tickets":true into the rules`,
	}}, nil
}

// checkCatalogue checks how the catalogue is transferred from its source.
func checkCatalogue(j *jobFlags) []checkup.Finding {
	host := j.exposedCatalogue()
	if host == "" {
		return nil
	}
	return []checkup.Finding{{
		Level: checkup.LevelWarning, Rule: "no-tls", Detail: "the catalogue at " + host + " is fetched without TLS",
		Why:    "anyone on the network between can change the names, pictures and links that players see",
		Remedy: "write https in --catalogue-url",
	}}
}

// checkFiles checks the modes of all files of secrets. A file of tokens contains
// digests: others may read it.
func checkFiles(c *Config, url string) []checkup.Finding {
	files := []string{c.tlsKey, c.sealFlag.Path}
	for _, s := range c.secrets() {
		files = append(files, s.File)
	}
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		files = append(files, path)
	}
	return slices.Concat(checkup.Files(setting.OthersMayUse, files...), checkup.Files(setting.OthersMayWrite, c.tokensFile))
}

// askLock pings a lock service outside the database; check-ups ping the database
// anyway.
func askLock(ctx context.Context, lock locker.Lock, url string) []checkup.Finding {
	if !isLockService(url) {
		return nil
	}
	err := lock.Ping(ctx)
	if err == nil {
		return nil
	}
	return []checkup.Finding{{
		Level: checkup.LevelDanger, Rule: "lock-service", Detail: "the lock service " + lockScheme(url) + ": does not answer: " + setting.Message(err),
		Why:    "/readyz is 503, and draws in external mode are answered 503 lock-unavailable",
		Remedy: "start it, or mend --lock; the address must be reached from this machine",
	}}
}
