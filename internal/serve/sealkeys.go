package serve

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"drawsvc/internal/seal"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// sealKeys are the keys of codes, which are replaced when their file changes.
type sealKeys struct {
	file   *reloaded // nil without --seal-keys
	keeper *seal.Keeper
	// changed is called after the keys have been replaced.
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

// SealKeys returns the keeper of the keys of codes.
func (c *Config) SealKeys() *seal.Keeper { return c.seals.keeper }

// checkKeysMax bounds the check of changed keys.
const checkKeysMax = 5 * time.Second

// follow makes the store check the keys against the database now, every few seconds, and
// whenever the file has changed.
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
