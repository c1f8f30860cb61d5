package main

import (
	"context"
	"net/http"

	"drawsvc/loadtest/harness"
)

// usersNew has every request come from a user of its own.
const usersNew = "new"

// rules are those of a candidate's pool, "" for none.
type rules string

const (
	// rulesWin has one draw in two go to the urn, and the other to the fallback.
	rulesWin rules = "win 1/2"
	// rulesOnce is for new users: nobody is refused.
	rulesOnce rules = "one draw a user"
	// rulesDaily counts days of few users, and is never reached: the same rows are
	// read and written for 3 a day as for a million.
	rulesDaily rules = "a limit a day"
	// rulesRefused is for one user, whose first draw is the last.
	rulesRefused rules = "all refused"
)

func (r rules) document() string {
	limits := map[rules]string{
		rulesOnce: `{"of":"draws","max":1}`, rulesRefused: `{"of":"draws","max":1}`,
		rulesDaily: `{"of":"draws","max":1000000,"per":"day"}`,
	}
	if r == rulesWin {
		return `{"fallback":"none","win":"1/2"}`
	}
	return `{"limits":[` + limits[r] + `]}`
}

func setRules(ctx context.Context, c candidate, i *harness.Process, pool string) error {
	if c.rules == "" {
		return nil
	}
	for _, call := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPost, "/prizes", `{"id":"none","name":"No win","kind":"blank"}`, http.StatusCreated},
		{http.MethodPut, "/rules", c.rules.document(), http.StatusOK},
	} {
		if _, err := harness.Operate(ctx, call.method, i.URL+"/admin/pools/"+pool+call.path, call.body, call.status); err != nil {
			return err
		}
	}
	return nil
}
