//go:build !linux

package harness

import "syscall"

// ownGroup is nothing where the kernel cannot end a program with its parent: an
// interrupt is to reach both.
func ownGroup() *syscall.SysProcAttr { return nil }
