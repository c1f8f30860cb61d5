package serve

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"drawsvc/internal/seal"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
)

// sealKeys are the keys of codes, which their file may change.
type sealKeys struct {
	file   *reloaded // nil without --seal-keys
	keeper *seal.Keeper
	// changed is called when other keys are in use.
	changed func()
}

// readSealKeys reads the first keys.
func readSealKeys(path string) (*sealKeys, error) {
	s := &sealKeys{keeper: &seal.Keeper{}, changed: func() {}}
	if path == "" {
		return s, nil
	}
	s.file = &reloaded{name: "--" + setting.SealKeysName, paths: []string{path}, use: func(texts [][]byte) error {
		ring, err := seal.ParseKeys(texts[0])
		if err == nil {
			s.keeper.Replace(ring)
			s.changed()
		}
		return err
	}}
	if _, err := s.file.readAll(); err != nil {
		return s, fmt.Errorf("--%s: %w", setting.SealKeysName, err)
	}
	return s, nil
}

// SealKeys are the keys of codes.
func (c *Config) SealKeys() *seal.Keeper { return c.seals.keeper }

// checkKeysMax bounds the check of changed keys.
const checkKeysMax = 5 * time.Second

// follow has the keys checked against the database now, every few seconds, and whenever
// the file has changed.
func (s *sealKeys) follow(ctx context.Context, store *stock.Store, log *slog.Logger) error {
	s.changed = func() {
		bounded, end := context.WithTimeout(context.WithoutCancel(ctx), checkKeysMax)
		defer end()
		if err := store.CheckKeys(bounded); err != nil {
			log.Warn("changed seal keys could not be checked yet", "error", err)
		}
	}
	return store.WatchKeys(ctx)
}

// checkCodes finds pools with codes that do not open under the keys.
func checkCodes(ctx context.Context, store *stock.Store) ([]checkup.Finding, error) {
	schema, err := store.Schema(ctx)
	if err != nil || schema.Check() != nil {
		return nil, err // a schema that does not fit was found already
	}
	pools, foreign, err := store.ReadCodesAway(ctx)
	if err != nil {
		return nil, err
	}
	var found []checkup.Finding
	if len(pools) > 0 {
		found = append(found, checkup.Finding{
			Level: checkup.LevelDanger, Rule: "seal-key-missing", Detail: "codes do not open under the keys of --seal-keys, in pools: " + strings.Join(pools, ", "),
			Why:    "an instance with these keys draws from none of them, and answers known keys there with 503 seal-key-missing",
			Remedy: "add the key to the file of --seal-keys on every instance; nobody can open the codes without it",
		})
	}
	if len(foreign) > 0 {
		found = append(found, checkup.Finding{
			Level: checkup.LevelDanger, Rule: "seal-key-foreign", Detail: "keys of --seal-keys have other bytes than those that codes are sealed with: " + strings.Join(foreign, ", "),
			Why:    "such a key opens nothing, and the service does not use it",
			Remedy: "put the former bytes of these ids back, and give a new key a new id",
		})
	}
	return found, nil
}
