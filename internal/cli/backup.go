package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

func backupCommand(env setting.Environment) *cobra.Command {
	var db setting.Database
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy an embedded database into a new file, while it is served",
		Long: `Copy an embedded database into a new file, while it is served.

The file holds one state: all that was acknowledged when the command began. It
gets its name when it is complete, checked and on the disk, can be read by its
owner only, and never replaces another file. PostgreSQL, MySQL and
MariaDB have tools of their own: see docs/backup.md.`,
		Example: `  drawsvc backup "backup-$(date -u +%Y%m%dT%H%M%SZ).db"`,
		Args:    oneFile,
	}
	db.Flag(c, env)
	c.RunE = func(c *cobra.Command, args []string) error {
		url, err := db.Read(c)
		if err != nil {
			return err
		}
		size, err := stock.Backup(c.Context(), url, args[0], stock.Options{Migrations: db.Schema})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Stdout, "backup %s: %d bytes\n", args[0], size)
		return err
	}
	return c
}

func restoreCommand(env setting.Environment) *cobra.Command {
	var db setting.Database
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace an embedded database by a backup, while it is not served",
		Long: `Replace an embedded database by a backup, while it is not served.

The backup is examined first: its structure, its schema, and every rule of the
audit. Then it takes the place of the database as a whole; what a crash left
beside the old one is removed. A restore that is killed leaves the old database
or the new one. Wins that were answered after the backup are not in it:
docs/backup.md has the steps.`,
		Args: oneFile,
	}
	db.Flag(c, env)
	c.RunE = func(c *cobra.Command, args []string) error {
		url, err := db.Read(c)
		if err != nil {
			return err
		}
		found, err := stock.Restore(c.Context(), url, args[0], stock.Options{Migrations: db.Schema})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Stdout, "restored %s: %s, %s, 0 violations\n", args[0], counted(found.Pools, "pool"), counted(found.Awards, "award"))
		return err
	}
	return c
}
