package servertest

import (
	"net"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLinkReturnsWhileProgramsStart: a link can be restored while a program is starting.
// Such a program has inherited all listeners of this process, until it closes them.
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

// TestACutLinkRefusesWhoeverElseHasIt: a link that was cut refuses connections, even if a
// program that is starting has inherited its listener.
func TestACutLinkRefusesWhoeverElseHasIt(t *testing.T) {
	p := StartProxy(t, "127.0.0.1:9")
	other, err := p.listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer other.Close()
	p.Cut()
	_, err = net.Dial("tcp", p.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	p.Pass()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}
