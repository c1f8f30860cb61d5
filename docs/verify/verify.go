// Package verify embeds the second verifier of public logs, a program in Python, so that
// the service can serve it.
package verify

import "embed"

// Files are verify.py and bls.py.
//
//go:embed verify.py bls.py
var Files embed.FS
