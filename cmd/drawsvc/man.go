package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual pages. It is for whoever packages the program,
// and so not in the list of commands.
func manCommand(env environment) *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use:    "man --dir DIR",
		Short:  "Write manual pages, one for each command",
		Args:   noArguments,
		Hidden: true,
	}
	c.Flags().StringVar(&folder, "dir", "", "`folder` for the pages; it is made if there is none")
	setAnnotation(c.Flags().Lookup("dir"), noVariable)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if folder == "" {
			return usageError{errors.New("name the folder with --dir")}
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		root := c.Root()
		root.DisableAutoGenTag = true // a page says nothing of the day on which it was made
		header := doc.GenManHeader{Section: "1", Source: "drawsvc", Manual: "drawsvc"}
		if err := doc.GenManTree(root, &header, folder); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.stdout, "the manual is in %s: man -l %s/drawsvc.1\n", folder, folder)
		return err
	}
	return c
}
