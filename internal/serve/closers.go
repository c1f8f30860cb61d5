package serve

import (
	"context"
	"log/slog"

	"drawsvc/internal/setting"
)

// closers closes everything that was started, in reverse order.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

func (c *closers) addStop(stops ...func()) {
	for _, stop := range stops {
		c.add(func() error { stop(); return nil })
	}
}

// close calls all closers and returns the first error.
func (c closers) close() error {
	var first error
	for i := len(c) - 1; i >= 0; i-- {
		first = setting.FirstOf(first, c[i]())
	}
	return first
}

// closeWithin is like close, but gives up when ctx ends. Anything that is not closed by
// then ends with the process. A draw that waits for a silent database is then left as
// after a crash: a retry with its key settles it.
func (c closers) closeWithin(ctx context.Context, log *slog.Logger) error {
	closed := make(chan error, 1)
	go func() { closed <- c.close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		log.Warn("exiting while draws still wait for the database; a retry with the same key settles each of them")
		return nil
	}
}
