//go:build unix

package sqlitefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// inheritOwner gives a file the owner of the database, or the owner of its folder if the
// database does not exist yet. Only root can change owners, and only root needs to: it
// may restore a file for another account.
func inheritOwner(database, file string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	like, err := os.Stat(database)
	if errors.Is(err, fs.ErrNotExist) {
		like, err = os.Stat(filepath.Dir(database))
	}
	if err != nil {
		return err
	}
	if owner, ok := like.Sys().(*syscall.Stat_t); ok {
		return os.Chown(file, int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// noFollow makes the opening of a link fail. Otherwise the link's target would be created
// with the rights of the service.
const noFollow = syscall.O_NOFOLLOW
