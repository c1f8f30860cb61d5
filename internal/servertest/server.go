package servertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// readyMax is the maximum time until a server is ready. It is so long that a server
	// exceeds it only if it will never be ready, even on a busy machine. A server that has
	// ended is noticed at once.
	readyMax = 2 * time.Minute
	// stopMax is the maximum time for a server to stop properly.
	stopMax = time.Minute
	// logTail is the number of bytes from the end of the log that are shown if a server
	// does not start.
	logTail = 4 << 10
)

// Server is one private server. Its methods may be called from any goroutine, but only
// one at a time.
type Server struct {
	name     string
	kind     kind
	options  options
	programs map[string]string
	dir      string
	ports    []*port

	mu      sync.Mutex
	process *process // nil before the first start
}

// Start starts a private server of the kind, one of [Kinds] or [TiDB], and returns when
// it is ready. When the test ends, it is killed and its folder is removed.
func Start(tb testing.TB, kind string, opts ...Option) *Server {
	tb.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sh := sharedOf(tb)
	s, err := sh.launch(kind, o)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(s.discard)
	return s
}

// launch creates a server and starts it. After an error, nothing of the server remains.
func (sh *shared) launch(name string, o options) (*Server, error) {
	k, ok := kindOf(name)
	if !ok {
		return nil, fmt.Errorf("unknown kind of server %q: one of %s", name, strings.Join(Kinds(), ", "))
	}
	return sh.open(name, k, o)
}

// open is like launch, for a kind that need not be in the registry.
func (sh *shared) open(name string, k kind, o options) (*Server, error) {
	programs, err := k.find()
	if err != nil {
		return nil, err
	}
	s := &Server{name: name, kind: k, options: o, programs: programs}
	folder := sh.memory
	if o.durable {
		folder = sh.disk
	}
	if err := s.begin(folder); err != nil {
		err = fmt.Errorf("start %s: %w\n%s", name, err, s.tail())
		s.discard()
		return nil, err
	}
	return s, nil
}

// begin creates the folder, claims the ports, sets up the data and starts the server.
func (s *Server) begin(folder string) error {
	dir, err := os.MkdirTemp(folder, s.name+"-")
	if err != nil {
		return err
	}
	s.dir = dir
	if err := giveAway(dir); err != nil {
		return err
	}
	for range s.kind.ports {
		port, err := claimPort()
		if err != nil {
			return err
		}
		s.ports = append(s.ports, port)
	}
	if s.kind.setUp != nil {
		ctx, cancel := context.WithTimeout(context.Background(), readyMax)
		defer cancel()
		if err := s.kind.setUp(ctx, s); err != nil {
			return fmt.Errorf("set its data up: %w", err)
		}
	}
	return s.Start()
}

// Addr returns the server's address, host:port.
func (s *Server) Addr() string { return s.ports[0].addr() }

// URL returns the server's URL in the form that drawsvc reads. For a database server, it
// is the URL of an empty database.
func (s *Server) URL() string { return s.kind.url(s) }

// Dir returns the server's folder, which contains its data and the file "log".
func (s *Server) Dir() string { return s.dir }

// Start starts a killed or stopped server again, with the same port and data. It returns
// when the server is ready. Its error contains the end of the log.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.running() {
		return fmt.Errorf("%s runs already", s.name)
	}
	cmd, closeLog, err := s.command(context.Background(), s.kind.command(s))
	if err != nil {
		return err
	}
	defer closeLog()
	if s.process, err = spawn(cmd, s.kind.discard); err != nil {
		return err
	}
	return s.awaitReady()
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyMax)
	defer cancel()
	for {
		err := s.kind.ready(ctx, s)
		if err == nil && s.process.running() {
			return nil
		}
		select {
		case <-s.process.exited:
			return fmt.Errorf("%s ended at once\n%s", s.name, s.tail())
		case <-ctx.Done():
			s.process.kill()
			return fmt.Errorf("%s is not ready after %v: %w\n%s", s.name, readyMax, err, s.tail())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Kill ends all processes of the server at once, as a crash does, and keeps its data.
func (s *Server) Kill() {
	s.act(func(p *process) {
		p.kill()
		if s.kind.killed != nil {
			s.kind.killed(s)
		}
	})
}

// Stop shuts the server down properly, and keeps its data. If the server does not stop
// within a minute, it is killed.
func (s *Server) Stop() { s.end(s.kind.stop) }

// Pause stops all processes of the server. Connections stay open, and the kernel accepts
// new ones, but nothing answers.
func (s *Server) Pause() { s.act((*process).pause) }

// Resume resumes a paused server.
func (s *Server) Resume() { s.act((*process).resume) }

// act calls do with the process of a running server; otherwise it does nothing.
func (s *Server) act(do func(*process)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.running() {
		do(s.process)
	}
}

// end sends a signal that should end the server. If the server does not end, it kills it.
func (s *Server) end(signal syscall.Signal) {
	s.act(func(p *process) {
		p.resume() // a paused server obeys no signal but SIGKILL
		p.ask(signal)
		select {
		case <-p.exited:
		case <-time.After(stopMax):
			p.kill()
		}
	})
}

// discard ends the server permanently and removes its folder.
func (s *Server) discard() {
	s.end(s.kind.discard)
	for _, port := range s.ports {
		port.release()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // if this fails, the reaper tries again
	}
}

// path returns the path of a file in the server's folder.
func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// tail returns the end of the server's log.
func (s *Server) tail() string {
	log, err := os.ReadFile(s.path("log"))
	if err != nil {
		return ""
	}
	return string(log[max(0, len(log)-logTail):])
}
