package servertest

import (
	"os/exec"
	"sync"
	"testing"
)

// TestLinkReturnsWhileProgramsStart: a program that is being started has all
// that this process listens on, until it has closed it.
func TestLinkReturnsWhileProgramsStart(t *testing.T) {
	var starting sync.WaitGroup
	defer starting.Wait()
	done := make(chan struct{})
	defer close(done)
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = exec.Command("true").Run()
				}
			}
		})
	}
	for range 300 {
		p := StartProxy(t, "127.0.0.1:9")
		p.Cut()
		p.Pass()
		p.Cut()
	}
}
