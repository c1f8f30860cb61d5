package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"drawsvc/internal/setting"
)

// manCommand writes the manual pages. It is for packaging the program, and therefore
// not in the list of commands.
func manCommand(env setting.Environment) *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use:    "man --dir DIR",
		Short:  "Write manual pages, one for each command",
		Args:   noArguments,
		Hidden: true,
	}
	c.Flags().StringVar(&folder, "dir", "", "`folder` for the pages; it is created if it does not exist")
	setting.SetAnnotation(c.Flags().Lookup("dir"), setting.NoVariable)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if folder == "" {
			return setting.AsUsage(errors.New("name the folder with --dir"))
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		root := c.Root()
		root.DisableAutoGenTag = true // pages do not name their generator
		header := doc.GenManHeader{Section: "1", Source: "drawsvc " + setting.ReadVersion(env).Version, Manual: "drawsvc", Date: manualDate(env)}
		if err := doc.GenManTree(root, &header, folder); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.Stdout, "the manual is in %s: man -l %s/drawsvc.1\n", folder, folder)
		return err
	}
	return c
}

// manualDate returns the date of the pages: the time of the commit, so that every build
// of the commit writes the same pages. It returns nil if SOURCE_DATE_EPOCH is set, which
// then decides, or if the time is unknown: then the clock decides.
func manualDate(env setting.Environment) *time.Time {
	_, isSet := env.LookUp("SOURCE_DATE_EPOCH")
	info, ok := debug.ReadBuildInfo()
	if isSet || !ok {
		return nil
	}
	at, err := time.Parse(time.RFC3339, setting.Setting(info, "vcs.time"))
	if err != nil { // the build does not state the time of the commit
		return nil
	}
	return &at
}
