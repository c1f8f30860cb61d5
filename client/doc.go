// Package client draws prizes from a drawsvc, each draw exactly once.
//
// A key names a draw. Create the key with [NewKey], and store it before the first call of
// [Client.Draw], for example with the order that the draw belongs to:
//
//	key := client.NewKey()
//	// store key with the order, then
//	made, err := c.Draw(ctx, client.Request{Pool: "spring", User: "u1", Key: key})
//
// Draw retries with the same key until the service has decided, or ctx ends. A lost
// connection, 500 and 504 leave the outcome unknown; the same key settles it. A request
// that is answered with 503 or 429 drew nothing, but an earlier request with the key may
// have drawn; Draw waits as long as Retry-After states. Waits grow and are jittered.
//
// Draw returns one of three results:
//
//   - a [Draw]: it is durable, and the key always gets the same draw from then on;
//   - an [*Error]: the service has refused it, and nothing happened. Compare by code:
//     errors.Is(err, client.SoldOut);
//   - an [*Unsettled]: the outcome is unknown. Call again with the same key, also after
//     a restart of the caller.
//
// [Client.Do] makes any other call, for example an admin's, and retries it if that is
// safe.
//
// The URL begins with https, except for a service on the same machine: a token is not
// sent to another machine without encryption ([ErrPlainHTTP]). No redirect is followed.
//
// A Timeout of [Client.HTTP] must be longer than the service's --request-timeout
// (5 s): a caller that disconnects early slows down its own retry.
package client
