// Package packed keeps answers small: it compresses them, only once if many callers
// share them, and keeps the shared ones for a second, with their tags.
package packed
