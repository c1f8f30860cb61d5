package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"drawsvc/client"
)

// order is an order of a shop, for which the shop makes a draw. Its key is stored with
// it.
type order struct{ id, user, drawKey string }

// drawFor draws for an order, and can be called again after a crash.
func drawFor(ctx context.Context, c *client.Client, o *order, store func(*order) error) (string, error) {
	if o.drawKey == "" {
		o.drawKey = client.NewKey()
		if err := store(o); err != nil { // before the first call
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	made, err := c.Draw(ctx, client.Request{Pool: "demo", User: o.user, Key: o.drawKey})
	switch {
	case errors.Is(err, client.SoldOut):
		return "all prizes are drawn", nil
	case err != nil:
		return "", err // an *Unsettled: call drawFor again later, with the order as it was stored
	}
	return made.Awards[0].Name, nil
}

func Example() {
	// This replaces a service at http://127.0.0.1:8080.
	url, stop := demo()
	defer stop()

	c := &client.Client{URL: url, Token: "a token of role draw"}
	prize, err := drawFor(context.Background(), c, &order{id: "4711", user: "u1"}, func(*order) error { return nil })
	fmt.Println(prize, err)
	// Output: Gold coin <nil>
}
