// Package ticket reads tickets: compact JSON web tokens (RFC 7519) by which an outside
// issuer allows a user one draw of a pool. The ticket's id is the draw's name, so that
// a ticket can be used only once, ever. The key that a ticket names determines the
// algorithm by which it is verified. A Set of keys never changes; a Keeper replaces it
// by the next one while requests are answered.
package ticket
