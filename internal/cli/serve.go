package cli

import (
	"github.com/spf13/cobra"

	"drawsvc/internal/serve"
	"drawsvc/internal/setting"
)

func serveCommand(env setting.Environment) *cobra.Command {
	var c serve.Config
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.Read(cmd); err != nil {
				return err
			}
			return serve.Run(cmd, &c, env)
		},
	}
	c.Flags(cmd, env)
	return cmd
}
