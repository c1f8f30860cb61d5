package servertest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Ports are below the range that the kernel uses for outgoing connections. So the port of
// a killed server is still free when the server is started again.
const (
	portMin = 20_000
	portMax = 29_999
)

// port is a TCP port of 127.0.0.1 that is reserved for this process, whether or not a
// server listens on it. The reservation is a UDP socket with the same number. Other test
// processes notice the socket. It does not prevent a TCP server from listening, and ends
// with the process.
type port struct {
	number int
	mark   net.PacketConn
}

// FreeAddr returns an address, 127.0.0.1:PORT, on which nothing listens. No other test
// gets it until this one ends.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	port, err := claimPort()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(port.release)
	return port.addr()
}

// ClosedAddr returns an address, 127.0.0.1:PORT, at which the kernel refuses every
// connection until the test ends. A socket is bound to the address without listening, so
// no other process can listen there.
func ClosedAddr(tb testing.TB) string {
	tb.Helper()
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		tb.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		tb.Fatal(err)
	}
	return loopback(bound.(*syscall.SockaddrInet4).Port)
}

func claimPort() (*port, error) {
	for range 200 {
		number := portMin + rand.IntN(portMax-portMin+1)
		mark, err := net.ListenPacket("udp4", loopback(number))
		if err != nil {
			continue
		}
		if !canListen(number) {
			_ = mark.Close()
			continue
		}
		return &port{number: number, mark: mark}, nil
	}
	return nil, errors.New("no free port on 127.0.0.1")
}

// canListen reports whether a server can listen on the port, by listening for a moment.
// No program may be started meanwhile, because it would inherit the listener.
func canListen(number int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	listener, err := net.Listen("tcp4", loopback(number))
	if err != nil {
		return false
	}
	_ = listener.Close()
	return true
}

// listenMax is the maximum time until a program that is starting has closed the listeners
// that it inherited.
const listenMax = time.Minute

// listen accepts connections on the port. It retries while the port is in use: a program
// that is starting may have inherited a listener that this process has just closed.
func (p *port) listen() (listener net.Listener, err error) {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		listener, err = net.Listen("tcp4", p.addr())
		if !errors.Is(err, syscall.EADDRINUSE) || time.Since(begun) > listenMax {
			return listener, err
		}
	}
}

// hangUp makes a listener refuse connections from now on. Closing is not enough: a
// program that is starting may have inherited the listener, and the kernel would accept
// connections for it.
func hangUp(listener net.Listener) {
	if raw, err := listener.(*net.TCPListener).SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RD) })
	}
	_ = listener.Close()
}

func (p *port) addr() string { return loopback(p.number) }

func (p *port) release() { _ = p.mark.Close() }

func loopback(number int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
}
