// Package shop is a typical caller that uses the code which oapi-codegen generates from
// openapi.yaml.
package shop

import (
	"context"
	"fmt"

	"drawsvc/tools/api"
)

// Draw draws once.
func Draw(ctx context.Context, c *api.ClientWithResponses, pool, user, key string) (string, error) {
	answer, err := c.DrawWithResponse(ctx, &api.DrawParams{IdempotencyKey: &key}, api.DrawRequest{Pool: pool, User: &user})
	switch {
	case err != nil:
		return "", err
	case answer.JSON200 == nil:
		return "", fmt.Errorf("status %d", answer.StatusCode())
	}
	return answer.JSON200.Awards[0].Prize, nil
}

// Feeds reads a page of each feed.
func Feeds(ctx context.Context, c *api.ClientWithResponses, pool string, after api.After) error {
	feed, err := c.FeedAwardsWithResponse(ctx, &api.FeedAwardsParams{})
	if err != nil {
		return err
	}
	fmt.Println(feed.JSON200.Next, feed.JSON200.End)
	for _, a := range feed.JSON200.Awards {
		fmt.Println(a.Pool, a.Version, a.User, a.Prize)
	}
	awards, err := c.ListAwardsWithResponse(ctx, pool, &api.ListAwardsParams{After: &after})
	if err != nil {
		return err
	}
	for _, a := range awards.JSON200.Awards {
		fmt.Println(a.Version, a.User, a.Prize)
	}
	fmt.Println(awards.JSON200.Cursor)
	moves, err := c.ListMovesWithResponse(ctx, pool, &api.ListMovesParams{})
	if err != nil {
		return err
	}
	fmt.Println(moves.JSON200.Cursor)
	mine, err := c.ListUserAwardsWithResponse(ctx, pool, "u1", &api.ListUserAwardsParams{})
	if err != nil {
		return err
	}
	fmt.Println(mine.JSON200.Cursor)
	steps, err := c.ListStepsWithResponse(ctx, pool, &api.ListStepsParams{})
	if err != nil {
		return err
	}
	fmt.Println(steps.JSON200.Next)
	return nil
}
