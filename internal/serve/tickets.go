package serve

import (
	"fmt"

	"drawsvc/internal/ticket"
)

// tickets holds the keys of tickets, which are read again when their file changes.
type tickets struct {
	file   *reloaded // nil without --ticket-keys
	keeper *ticket.Keeper
}

// readTickets reads the first keys; without a file every ticket is refused.
func readTickets(path string) (tickets, error) {
	t := tickets{keeper: ticket.NewKeeper(nil)}
	if path == "" {
		return t, nil
	}
	keeper := t.keeper
	t.file = &reloaded{name: "--ticket-keys", paths: []string{path}, use: func(texts [][]byte) error {
		keys, err := ticket.ParseKeys(texts[0])
		if err == nil {
			keeper.Replace(keys)
		}
		return err
	}}
	if _, err := t.file.readAll(); err != nil {
		return t, fmt.Errorf("--ticket-keys: %w", err)
	}
	return t, nil
}
