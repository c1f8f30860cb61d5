package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"drawsvc/internal/draw"
)

// prizeFlags collects the --prize flags. It implements pflag.Value.
type prizeFlags []draw.Prize

// String implements pflag.Value.
func (p *prizeFlags) String() string { return "" }

// Type implements pflag.Value.
func (p *prizeFlags) Type() string { return "PRIZE" }

// Set implements pflag.Value: it adds one prize.
func (p *prizeFlags) Set(text string) error {
	// The record of a CSV file, so that a name may hold a comma.
	parts, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return errors.New("must be id=ID,stock=N[,name=NAME][,value=AMOUNT][,kind=blank]")
	}
	given := map[string]string{}
	for _, part := range parts {
		key, value, ok := strings.Cut(part, "=")
		if _, twice := given[key]; !ok || twice {
			if !ok && len(parts) == 1 {
				return fmt.Errorf("%q is not KEY=VALUE: write id=%s,stock=N[,name=NAME][,value=AMOUNT][,kind=blank]", part, part)
			}
			return fmt.Errorf("%q is not KEY=VALUE, or there twice", part)
		}
		given[key] = value
	}
	prize, err := prizeOf(given)
	if err != nil {
		return err
	}
	*p = append(*p, prize)
	return nil
}

func prizeOf(given map[string]string) (prize draw.Prize, err error) {
	prize = draw.Prize{ID: given["id"], Name: given["id"]}
	for key, value := range given {
		switch key {
		case "id":
		case "name":
			prize.Name = value
		case "value":
			prize.Value, err = draw.ParseValue(value)
		case "stock":
			if prize.Stocked, err = strconv.ParseInt(value, 10, 64); err != nil {
				return prize, fmt.Errorf("stock must be a whole number from 0 to %d, not %q", draw.StockMax, value)
			}
		case "kind":
			prize.Kind = draw.Kind(value)
		default:
			return prize, fmt.Errorf("%q is none of id, name, value, stock and kind", key)
		}
		if err != nil {
			return prize, fmt.Errorf("%s %q: %s", key, value, message(err))
		}
	}
	if _, ok := given["stock"]; !ok {
		if prize.Kind != draw.KindBlank {
			return prize, errors.New("stock is missing")
		}
		prize.Stocked = draw.EndlessStock
	}
	if err := prize.Check(); err != nil {
		return prize, errors.New(message(err))
	}
	return prize, nil
}
