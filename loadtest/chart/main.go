package main

import (
	"errors"
	"fmt"
	"os"

	"drawsvc/loadtest/harness"
)

type timeline struct {
	Name    string   `json:"name"`
	Samples []sample `json:"samples"`
}

type sample struct {
	Seconds   float64 `json:"seconds"`
	Won       float64 `json:"won"`
	SoldOut   float64 `json:"sold_out"`
	Remaining float64 `json:"remaining"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: chart TIMELINE.json PICTURE.svg")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	t, err := harness.Read[timeline](from)
	if err != nil {
		return err
	}
	if len(t.Samples) < 3 {
		return errors.New("the timeline has too few samples to draw")
	}
	return os.WriteFile(to, []byte(t.svg()), 0o644)
}
