package cli

import (
	"slices"
	"strings"

	"drawsvc/internal/setting"
)

// serving returns the command and flags of a service in tests; args are added to them.
// The request timeout is longer than the default, for a busy machine. Anyone may draw,
// unless the test restricts it.
func (p program) serving(args ...string) []string {
	all := append([]string{"serve", "--listen", "127.0.0.1:0", "--request-timeout", "30s"}, args...)
	if p.saysWhoDraws(args) {
		return all
	}
	return append(all, "--public-draw")
}

func (p program) saysWhoDraws(args []string) bool {
	for _, flag := range []string{"draw-token", "draw-token-file", "public-draw", "tokens", "demo"} {
		_, isSet := p.vars[setting.Variable(flag)]
		if isSet || slices.ContainsFunc(args, func(arg string) bool { return arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=") }) {
			return true
		}
	}
	return false
}
