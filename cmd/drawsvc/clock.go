package main

import (
	"errors"
	"time"

	"drawsvc/internal/api"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/spf13/cobra"
)

func clockCommand(env environment) *cobra.Command {
	return newGroup("clock", "Judge the database's clock", clockAcceptCommand(env))
}

func clockAcceptCommand(env environment) *cobra.Command {
	var on target
	c := &cobra.Command{
		Use:   "accept",
		Short: "Have a service take the database's clock to be right although it has leapt",
		Long: `Have a service take the database's clock to be right although it has leapt.

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
			err = usageError{errors.New("clock accept asks a service: name it with --server")}
		}
		if err != nil {
			return err
		}
		calls, err := on.dial(c.Flags())
		if err != nil {
			return err
		}
		defer func() { _ = calls.Close() }() // idle connections
		by, err := api.NewClient(calls).AcceptClock(c.Context())
		if err != nil {
			return err
		}
		if by == 0 {
			_, err = printf(env.stdout, "the database's clock had not leapt\n")
			return err
		}
		_, err = printf(env.stdout, "the database's clock, which leapt by %s, is taken to be right\n", by.Round(time.Second))
		return err
	}
	return c
}

// showClock adds the gauge of the leap that stands.
func showClock(r prometheus.Registerer, leap func() time.Duration) {
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_clock_leap_seconds", Help: "By how much the database's clock has leapt while the leap is not accepted, else 0.",
	}, func() float64 { return leap().Seconds() })
}
