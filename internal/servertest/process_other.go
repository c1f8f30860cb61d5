//go:build !linux

package servertest

import (
	"errors"
	"os/exec"
	"syscall"
)

// process is empty: it needs /proc and the parent-death signal, which only Linux has. On
// other systems the environment must name running servers.
type process struct{ exited chan struct{} }

func unsupported() error {
	return errors.New("throwaway servers need Linux: name running ones in DRAWSVC_TEST_…")
}

func spawn(*exec.Cmd, syscall.Signal) (*process, error) { return nil, unsupported() }

func detach(*exec.Cmd) error { return unsupported() }

func memoryFolder() string { return "" }

func giveAway(string) error { return nil }

func (*process) running() bool       { return false }
func (*process) ask(syscall.Signal)  {}
func (*process) pause()              {}
func (*process) resume()             {}
func (*process) kill()               {}
func (*process) moveTo(string) error { return unsupported() }
