package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

// prizeFlags collects the --prize flags. It implements pflag.Value.
type prizeFlags []api.NewPrize

// String implements pflag.Value.
func (p *prizeFlags) String() string { return "" }

// Type implements pflag.Value.
func (p *prizeFlags) Type() string { return "PRIZE" }

// Set implements pflag.Value: it adds one prize.
func (p *prizeFlags) Set(text string) error {
	// The text is parsed as a record of a CSV file, so that a name may contain a comma.
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

func prizeOf(given map[string]string) (prize api.NewPrize, err error) {
	prize = api.NewPrize{ID: given["id"], Name: given["id"]}
	for key, value := range given {
		switch key {
		case "id":
		case "name":
			prize.Name = value
		case "value":
			var amount decimal.Decimal
			if amount, err = draw.ParseValue(value); err != nil {
				return prize, fmt.Errorf("%s %q: %s", key, value, setting.Message(err))
			}
			prize.Value = new(amount.StringFixed(2))
		case "stock":
			units, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return prize, fmt.Errorf("stock must be a whole number from 0 to %d, not %q", draw.StockMax, value)
			}
			prize.Stock = &units
		case "kind":
			prize.Kind = orNil(value)
		case "codes":
			if prize.Codes, err = strconv.ParseBool(value); err != nil {
				return prize, fmt.Errorf("codes must be true or false, not %q", value)
			}
		default:
			return prize, fmt.Errorf("%q is not one of id, name, value, stock, kind and codes", key)
		}
	}
	if prize.Stock == nil && draw.Kind(given["kind"]) != draw.KindBlank && !prize.Codes {
		return prize, errors.New("stock is missing")
	}
	if _, err := prize.Read(); err != nil {
		return prize, errors.New(setting.Message(err))
	}
	return prize, nil
}

// orNil returns a text, nil if it is empty.
func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func prizeCommand(env setting.Environment) *cobra.Command {
	return newGroup("prize", "Add prizes to a pool, correct and describe them", prizeAddCommand(env), prizeRenameCommand(env), prizeDisplayCommand(env))
}

func prizeAddCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "add --pool ID --prize id=ID,stock=N[,name=NAME][,value=AMOUNT][,kind=blank] [--codes]", "Add a prize to a pool", acting, ofPool)
	c.Example = `  drawsvc prize add --pool spring --prize 'id=tin,name=Tin soldier,value=0.50,stock=40'
  drawsvc prize add --pool spring --codes --prize 'id=card,name=Gift card,value=25.00'`
	var text string
	var hasCodes bool
	c.Flags().StringVar(&text, "prize", "", "the `PRIZE`, as id=ID,stock=N[,name=NAME][,value=AMOUNT][,kind=blank]; without stock where it has codes")
	c.Flags().BoolVar(&hasCodes, "codes", false, "each unit has a code: the stock comes with drawsvc codes import")
	var prizes prizeFlags
	return c.does(func([]string) error {
		if text == "" {
			return setting.AsUsage(errors.New("name one prize with --prize"))
		}
		if hasCodes {
			text += ",codes=true"
		}
		if err := prizes.Set(text); err != nil {
			return setting.AsUsage(fmt.Errorf("--prize: %w", err))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		made, err := on.AddPrize(ctx, string(c.pool), &prizes[0])
		if err != nil {
			return err
		}
		_, err = setting.Printf(env.Stdout, "pool %s has the prize %s: %s stocked\n", c.pool, made.ID, orEndless(made.Stocked))
		return err
	})
}

func prizeRenameCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "rename --pool ID --prize ID [--name NAME] [--value AMOUNT]", "Correct the name or the value of a prize that has issued nothing", acting, ofPool)
	c.Example = `  drawsvc prize rename --pool spring --prize gold --name 'Gold coin'`
	var prize, name, value string
	f := c.Flags()
	f.StringVar(&prize, "prize", "", "`ID` of the prize")
	f.StringVar(&name, "name", "", "new name of the prize")
	f.StringVar(&value, "value", "", "new `AMOUNT` of money that it is worth")
	var change api.PrizeChange
	return c.does(func([]string) error {
		if f.Changed("name") {
			change.Name = &name
		}
		if f.Changed("value") {
			amount, err := draw.ParseValue(value)
			if err != nil {
				return setting.AsUsage(fmt.Errorf("--value: %s", setting.Message(err)))
			}
			change.Value = new(amount.StringFixed(2))
		}
		_, err := change.Read()
		return cmp.Or(draw.CheckID("the prize's id", prize), err)
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		p, err := on.ChangePrize(ctx, string(c.pool), prize, &change)
		if err != nil {
			return err
		}
		_, err = setting.Printf(env.Stdout, "pool %s, prize %s: name %q, value %s\n", c.pool, p.ID, p.Name, p.Value)
		return err
	})
}

func prizeDisplayCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "display --pool ID --prize ID [--name NAME] [--text TEXT] [--picture URL] [--link URL]",
		"Say what players are shown of a prize, also after its first award; an empty value shows it no more", acting, ofPool)
	c.Example = `  drawsvc prize display --pool spring --prize gold --name 'Gold coin' --link https://shop.example/gold`
	var prize string
	f := c.Flags()
	f.StringVar(&prize, "prize", "", "`ID` of the prize")
	change := api.PrizeChange{Display: &api.DisplayChange{}}
	values := map[string]*string{}
	for name, usage := range map[string]string{
		"name": "`NAME` that is shown in place of the prize's own", "text": "`TEXT` about the prize, at most 2000 characters",
		"picture": "address of a picture, a `URL` of https", "link": "address of a page about the prize, a `URL` of https",
	} {
		values[name] = f.String(name, "", usage)
	}
	return c.does(func([]string) error {
		d := change.Display
		for name, to := range map[string]*jsontext.Value{"name": &d.Name, "text": &d.Text, "picture": &d.Picture, "link": &d.Link} {
			if f.Changed(name) {
				*to = api.RawText(values[name])
			}
		}
		_, err := change.Read()
		return cmp.Or(draw.CheckID("the prize's id", prize), err)
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		p, err := on.ChangePrize(ctx, string(c.pool), prize, &change)
		if err != nil {
			return err
		}
		d := cmp.Or(p.Display, &api.Display{})
		_, err = setting.Printf(env.Stdout, "pool %s, prize %s: shown are name %q, text %q, picture %q, link %q\n", c.pool, p.ID, cmp.Or(d.Name, p.Name), d.Text, d.Picture, d.Link)
		return err
	})
}
