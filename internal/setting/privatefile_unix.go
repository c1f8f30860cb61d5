//go:build unix

package setting

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noFollow makes opening a link fail.
const noFollow = syscall.O_NOFOLLOW

// isLink reports whether noFollow has refused a link.
func isLink(err error) bool {
	return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) // the latter on FreeBSD
}

// isTrusted reports whether a file belongs to root or to the account of the process.
func isTrusted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}
