package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"time"

	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// ReloadEvery is how often files are read again; a change is noticed within 10 s.
const ReloadEvery = 5 * time.Second

// reloaded is a setting that is read from files and follows their changes. A file that
// cannot be used changes nothing.
type reloaded struct {
	name  string
	paths []string
	// use applies the files' texts, or returns why it cannot.
	use func(texts [][]byte) error
	// warn, if not nil, logs which parts of the texts in use are ignored.
	warn func(log *slog.Logger)
	// seen is the digest of the last texts that were used or found unusable.
	seen [sha256.Size]byte
}

// readAll reads the files and uses their texts, unless they are the same as at the last
// reading.
func (r *reloaded) readAll() (changed bool, err error) {
	texts, err := setting.ReadFiles(r.paths)
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %v", texts, err))
	if digest == r.seen {
		return false, nil
	}
	r.seen = digest
	if err == nil {
		err = r.use(texts)
	}
	return true, err
}

// followed returns the files of the store whose changes the service follows: the file of
// its URL, and the file of the identities that unseal seeds.
func (c *Config) followed(store *stock.Store) (all []*reloaded) {
	if login := c.Database.Login; login != nil && store.Dialect() != "sqlite" {
		all = append(all, &reloaded{name: "--database-file", paths: []string{c.Database.URL.File}, use: func(texts [][]byte) error { return login.Use(texts[0]) }})
	}
	if c.identity.Path != "" {
		all = append(all, &reloaded{name: "--" + setting.IdentityName, paths: []string{c.identity.Path}, use: func(texts [][]byte) error {
			by, err := proof.ParseIdentities(string(texts[0]))
			if err == nil {
				store.Unseal(by)
			}
			return err
		}})
	}
	for _, r := range all {
		_, _ = r.readAll() // this reads the content that is in use; an error is logged at the next reading
	}
	return all
}

// watch follows the changes of all files until ctx ends: every few seconds, and at once
// on request.
func watch(ctx context.Context, asked <-chan os.Signal, all []*reloaded, log *slog.Logger) {
	tick := time.NewTicker(ReloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			log.Info("SIGHUP: files are read again")
		case <-tick.C:
		}
		for _, r := range all {
			switch changed, err := r.readAll(); {
			case err != nil:
				log.Warn("a changed file cannot be used; the previous content stays in use", "flag", r.name, "error", err)
			case changed:
				log.Info("a changed file is used from now on", "flag", r.name)
				if r.warn != nil {
					r.warn(log)
				}
			}
		}
	}
}
