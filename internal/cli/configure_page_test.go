package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/setting"
)

// undocumented returns the flags of a command without a row on a page: flag, variable,
// default.
func undocumented(c *cobra.Command, page string) (missing []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(page, "| `--"+f.Name+"` | `"+setting.Variable(f.Name)+"` | ") {
			missing = append(missing, f.Name)
		}
	})
	return missing
}

// TestFlagsAreDocumented: docs/configure.md has every flag of serve, and those that
// admin commands share.
func TestFlagsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configure.md")
	require.NoError(t, err)
	serve := serveCommand(setting.Environment{})
	require.Empty(t, undocumented(serve, string(page)))
	shared := &cobra.Command{}
	(&target{}).flag(shared, setting.Environment{})
	new(actor).flag(shared)
	new(output).flag(shared.Flags())
	new(watchInterval).flag(shared.Flags())
	new(ifVersion).flag(shared)
	require.Empty(t, undocumented(shared, string(page)))
	require.Empty(t, undocumented(newPoolChange(setting.Environment{}, "open", "").Command, string(page)))
	serve.Flags().Bool("frob", false, "")
	require.Equal(t, []string{"frob"}, undocumented(serve, string(page)), "a flag without a row")
}
