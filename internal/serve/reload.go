package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"time"

	"drawsvc/internal/setting"
)

// ReloadEvery is how often files are read again; a change is seen within 10 s.
const ReloadEvery = 5 * time.Second

// reloaded is a setting that files hold and that follows their changes. A file
// that cannot be used changes nothing.
type reloaded struct {
	name  string
	paths []string
	// use takes the files' texts, or says why it cannot.
	use func(texts [][]byte) error
	// warn, where not nil, logs what of the texts in use is left out.
	warn func(log *slog.Logger)
	// seen is the digest of what was used or found unusable last.
	seen [sha256.Size]byte
}

// readAll reads the files and uses their texts, unless that was done with the
// same texts before.
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

// watch follows the changes of all until ctx ends: every few seconds, and at
// once when somebody asks.
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
				log.Warn("a changed file cannot be used, what was there before goes on", "flag", r.name, "error", err)
			case changed:
				log.Info("a changed file is used from now on", "flag", r.name)
				if r.warn != nil {
					r.warn(log)
				}
			}
		}
	}
}
