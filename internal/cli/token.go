package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

func tokenCommand(env setting.Environment) *cobra.Command {
	return newGroup("token", "Create bearer tokens", tokenNewCommand(env))
}

func tokenNewCommand(env setting.Environment) *cobra.Command {
	var name, role, until string
	c := &cobra.Command{
		Use:   "new",
		Short: "Print a new token, and its entry for the file of serve --tokens; the token is kept nowhere",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			token, entry, err := newToken(name, role, until)
			if err != nil {
				return setting.AsUsage(err)
			}
			_, err = fmt.Fprintf(env.Stdout, "token: %s\nentry: %s\n", token, entry)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&name, "name", "", "`name` of who acts with the token")
	f.StringVar(&role, "role", "", "`role`: admin, stock, auditor, fulfil, draw or metrics")
	f.StringVar(&until, "until", "", "`time` from which on it is rejected, such as 2026-12-31T23:59:59Z (default never)")
	return c
}

func newToken(name, role, until string) (token, entry string, err error) {
	parsed, err := access.ParseRole(role)
	if err != nil {
		return "", "", fmt.Errorf("--role: %w", err)
	}
	var end time.Time
	if until != "" {
		if end, err = draw.ParseTime("--until", until); err != nil {
			return "", "", err
		}
	}
	token, made, err := access.Generate(name, parsed, end)
	if err != nil {
		return "", "", fmt.Errorf("--name: %w", err)
	}
	entry, err = access.FileEntry(&made)
	return token, entry, err
}
