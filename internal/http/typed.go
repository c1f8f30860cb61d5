package http

import (
	"context"
)

// reads returns the handler of a call without a body: it answers with the JSON of do's
// result. The request timeout applies to do.
func reads[Out any](do func(context.Context, call) (Out, error)) handler {
	return func(c call) error {
		// The answer is encoded while the call holds its place among the calls that use the
		// database. The place is given back before the answer is sent, so a slow caller holds
		// none.
		body, err := placed(c, func(ctx context.Context) ([]byte, error) {
			out, err := do(ctx, c)
			if err != nil {
				return nil, err
			}
			return encodeJSON(out)
		})
		if err != nil {
			return err
		}
		return c.writeEncoded(body)
	}
}

// takes is like reads, for a call whose body is one JSON object.
func takes[In, Out any](do func(context.Context, call, *In) (Out, error)) handler {
	return func(c call) error {
		var in In
		if err := c.server.decode(c.gin.Request, &in); err != nil {
			return err
		}
		return reads(func(ctx context.Context, c call) (Out, error) { return do(ctx, c, &in) })(c)
	}
}
