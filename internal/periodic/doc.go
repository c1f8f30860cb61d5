// Package periodic runs a function at a fixed interval in the background.
package periodic
