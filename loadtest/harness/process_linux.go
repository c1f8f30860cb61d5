package harness

import "syscall"

// ownGroup keeps a terminal's interrupt from the program, which is killed when
// this one ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
