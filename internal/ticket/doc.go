// Package ticket reads tickets: compact JSON web tokens (RFC 7519) by which an outside
// issuer allows a user one draw of a pool. The ticket's id is the draw's name, so that a
// ticket can be used only once. The key that a ticket names determines the algorithm of
// the verification. A Set of keys never changes. A Keeper replaces the current Set by
// another one while requests are answered.
package ticket
