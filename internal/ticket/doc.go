// Package ticket reads tickets: compact JSON web tokens (RFC 7519) by which an
// issuer outside allows a user one draw of a pool. The ticket's id is the draw's
// name, so that a ticket is used once, for ever. The key that a ticket names
// decides by which algorithm it is verified. A Set of keys never changes; a
// Keeper replaces it by the next one while requests are answered.
package ticket
