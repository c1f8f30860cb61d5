package harness

import "syscall"

// ownGroup protects the program from a terminal's interrupt; the program is killed when
// this one ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
