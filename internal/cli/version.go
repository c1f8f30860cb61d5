package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"drawsvc/internal/setting"
)

func versionCommand(env setting.Environment) *cobra.Command {
	var output output
	c := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go version and the release of the time zones",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := setting.ReadVersion(env)
			if output == outputJSON {
				return json.NewEncoder(env.Stdout).Encode(v)
			}
			_, err := fmt.Fprintln(env.Stdout, v)
			return err
		},
	}
	output.flag(c.Flags())
	return c
}
