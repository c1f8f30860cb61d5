package checkup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock"
)

// AheadMin is the minimum time by which a pool's last entry must be ahead of the clock to
// be a finding.
const AheadMin = time.Minute

// checkStored finds what is wrong with the schema and, if the schema fits, stored data that
// cannot be used.
func checkStored(ctx context.Context, s *stock.Store) (found []Finding, err error) {
	schema, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if found, err = checkSchema(ctx, s, schema); err != nil || schema.Check() != nil {
		return found, err
	}
	for _, check := range []func(context.Context, *stock.Store) ([]Finding, error){checkUnreadable, checkCodes, checkHooks, checkAhead} {
		more, err := check(ctx, s)
		if err != nil {
			return found, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// checkUnreadable finds rules and planned items that this binary cannot read.
func checkUnreadable(ctx context.Context, s *stock.Store) (found []Finding, err error) {
	watched, err := s.ReadWatched(ctx)
	for _, p := range watched.Unreadable {
		what := fmt.Sprintf("the rules of pool %s, of version %d,", p.PoolID, p.Version)
		if p.Item != 0 {
			what = fmt.Sprintf("item %d of the agenda of pool %s", p.Item, p.PoolID)
		}
		found = append(found, Finding{
			Level: LevelDanger, Rule: "rules-unreadable",
			Detail: fmt.Sprintf("%s cannot be read by this binary, whose time zones are of %s: %s", what, rules.ZoneRelease, draw.DetailOf(p.Why)),
			Why:    "instances of this release answer new draws of the pool with 503 rules-unreadable; an item that nobody reads fails a minute after its time",
			Remedy: "run on all instances the release that wrote it, or replace the rules, or remove the item",
		})
	}
	return found, err
}

// checkAhead finds pools whose last entry is ahead of the database's clock.
func checkAhead(ctx context.Context, s *stock.Store) ([]Finding, error) {
	pools, err := s.PoolsAhead(ctx, AheadMin)
	if err != nil || len(pools) == 0 {
		return nil, err
	}
	return []Finding{{
		Level: LevelDanger, Rule: "pool-ahead", Detail: "the last entry is more than a minute ahead of the database's clock in pools: " + strings.Join(pools, ", "),
		Why:    "times never fall along a pool's versions: limits, budgets, tickets and agenda of these pools go by that time until the clock is there",
		Remedy: "find out whether the clock is slow now or was ahead then; close the pool and go on in a new one if waiting takes too long: docs/runbook.md, DrawsvcPoolsAhead",
	}}, nil
}

// checkCodes finds pools whose codes cannot be unsealed with the seal keys, and a schema
// that does not exclude equal codes.
func checkCodes(ctx context.Context, s *stock.Store) ([]Finding, error) {
	pools, foreign, err := s.ReadCodesAway(ctx)
	if err != nil {
		return nil, err
	}
	isUnique, err := s.AreCodesUnique(ctx)
	if err != nil {
		return nil, err
	}
	var found []Finding
	if !isUnique {
		found = append(found, Finding{
			Level: LevelDanger, Rule: "codes-not-unique", Detail: "the table codes has no unique constraint code_once",
			Why:    "the database does not refuse a code that is there already, and two winners may get one code",
			Remedy: "run drawsvc audit for each pool with codes; without doubles add the constraint: UNIQUE (digest) on the table codes",
		})
	}
	if len(pools) > 0 {
		found = append(found, Finding{
			Level: LevelDanger, Rule: "seal-key-missing", Detail: "codes do not open under the keys of --seal-keys, in pools: " + strings.Join(pools, ", "),
			Why:    "an instance with these keys draws from none of them, and answers known keys there with 503 seal-key-missing",
			Remedy: "add the key to the file of --seal-keys on every instance; nobody can open the codes without it",
		})
	}
	if len(foreign) > 0 {
		found = append(found, Finding{
			Level: LevelDanger, Rule: "seal-key-foreign", Detail: "keys of --seal-keys have other bytes than those that codes are sealed with: " + strings.Join(foreign, ", "),
			Why:    "such a key opens nothing, and the service does not use it",
			Remedy: "put the former bytes of these ids back, and give a new key a new id",
		})
	}
	return found, nil
}

// checkHooks finds hooks whose secrets cannot be unsealed with the seal keys.
func checkHooks(ctx context.Context, s *stock.Store) ([]Finding, error) {
	away, err := s.HooksAway(ctx)
	if err != nil || len(away) == 0 {
		return nil, err
	}
	return []Finding{{
		Level: LevelDanger, Rule: "hook-key-missing", Detail: "secrets do not open under the keys of --seal-keys, of hooks: " + strings.Join(away, ", "),
		Why:    "an instance with these keys sends nothing to them",
		Remedy: "add the key to the file of --seal-keys on every instance; without it, remove the hook and create it again",
	}}, nil
}
