package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/setting"
)

func clockCommand(env setting.Environment) *cobra.Command {
	return newGroup("clock", "Judge the database's clock", clockAcceptCommand(env))
}

func clockAcceptCommand(env setting.Environment) *cobra.Command {
	var on target
	c := &cobra.Command{
		Use:   "accept",
		Short: "Accept the database's clock after a leap, on a running service",
		Long: `Accept the database's clock after a leap, on a running service.

While a leap stands, pools with rules or an agenda give no new draws: they are
answered 503 clock-leapt. Each instance judges the clock by itself, so ask each
one. An instance takes a leap to be right by itself after five minutes.`,
		Example: "  drawsvc clock accept --server http://127.0.0.1:8080 --token-file admin-token",
		Args:    noArguments,
	}
	on.flag(c, env)
	c.RunE = func(c *cobra.Command, _ []string) error {
		remote, err := on.isRemote(c.Flags())
		if err == nil && !remote {
			err = setting.AsUsage(errors.New("clock accept asks a service: name it with --server"))
		}
		if err != nil {
			return err
		}
		calls, err := on.dial(c.Flags())
		if err != nil {
			return err
		}
		defer func() { _ = calls.Close() }() // closes idle connections
		by, err := api.NewClient(calls).AcceptClock(c.Context())
		if err != nil {
			return err
		}
		if by == 0 {
			_, err = setting.Printf(env.Stdout, "the database's clock had not leapt\n")
			return err
		}
		_, err = setting.Printf(env.Stdout, "the database's clock, which leapt by %s, is taken to be right\n", by.Round(time.Second))
		return err
	}
	return c
}
