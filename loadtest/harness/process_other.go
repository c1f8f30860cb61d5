//go:build !linux

package harness

import "syscall"

// ownGroup does nothing, because the kernel cannot end a program with its parent: an
// interrupt must reach both.
func ownGroup() *syscall.SysProcAttr { return nil }
