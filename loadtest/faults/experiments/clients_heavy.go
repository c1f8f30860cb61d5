package experiments

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

// memoryMore is how much more memory than before an instance may take after
// hundreds of megabytes were sent to it.
const memoryMore = 64 << 20

// huge sends bodies and headers that never end: each is refused or the
// connection closed early, and memory stays flat.
func huge(t *trial) error {
	before := t.memory()
	const senders, rounds = 8, 3
	client.Parallel(senders, func(n int) {
		for k := range rounds {
			i := t.Instances[n%len(t.Instances)]
			begin := "POST /draw HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + harness.DrawToken + "\r\nContent-Type: application/json\r\n"
			rest := "Content-Length: 1073741824\r\n\r\n"
			switch (n + k) % 3 {
			case 1:
				rest = "X-Long: " // a header without an end
			case 2:
				rest = "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n"
			}
			if sent, err := pour(i.Address, begin+rest, 64<<20); err != nil {
				t.Verdict.Say(history.Fault, "%d bytes of a huge request were taken: %v", sent, err)
			}
		}
	})
	for n, now := range t.memory() {
		if now > before[n]+memoryMore {
			t.Verdict.Say(history.Fault, "instance %d has %.0f MiB, %.0f before the huge requests", n, now/(1<<20), before[n]/(1<<20))
		}
	}
	return nil
}

// memory is what each instance has in memory, in bytes.
func (t *trial) memory() []float64 {
	var all []float64
	for _, i := range t.Instances {
		all = append(all, t.Metrics(i)["process_resident_memory_bytes"])
	}
	return all
}

// pour sends bytes until the other side hangs up. An error is that it did not,
// or that it said yes.
func pour(address, begin string, most int) (sent int, err error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	answered := make(chan string, 1)
	go func() {
		said, _ := io.ReadAll(io.LimitReader(conn, 4096)) // to the end, which may be a reset
		answered <- string(said)
	}()
	if _, err := io.WriteString(conn, begin); err != nil {
		return 0, nil // it hung up
	}
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for sent < most {
		n, err := conn.Write(chunk)
		sent += n
		if err != nil {
			break // it hung up
		}
	}
	if sent >= most {
		return sent, errors.New("all of it")
	}
	if said := <-answered; strings.HasPrefix(said, "HTTP/1.1 2") {
		return sent, fmt.Errorf("answered %q", said)
	}
	return sent, nil
}

// slowMax is the longest that a request may take to arrive, with some grace:
// 5 s for its head, 10 s in all.
const slowMax = 14 * time.Second

// slow lets clients send a byte now and then: each is answered 408 or hung up
// on, and no other client waits for them.
func slow(t *trial) error {
	const clients = 100
	starts := []string{
		"POST /draw HTTP/1.1\r\nX-Slow: ",
		"POST /draw HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + harness.DrawToken + "\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{",
		"",
	}
	from := t.History.Now()
	client.Parallel(clients, func(n int) {
		i := t.Instances[n%len(t.Instances)]
		took, said, err := drip(i.Address, starts[n%len(starts)])
		switch {
		case err != nil:
			t.Verdict.Say(history.Fault, "a slow client after %v: %v", took, err)
		case said != "" && !strings.HasPrefix(said, "HTTP/1.1 408"):
			t.Verdict.Say(history.Fault, "a slow client was answered %q", said)
		}
	})
	t.othersServed(from)
	return nil
}

// drip sends a byte every 300 ms until the other side ends it.
func drip(address, begin string) (took time.Duration, said string, err error) {
	began := time.Now()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(began.Add(slowMax))
	ended := make(chan struct{})
	var answer []byte
	var failed error
	go func() {
		defer close(ended)
		answer, failed = io.ReadAll(io.LimitReader(conn, 4096))
	}()
	_, _ = io.WriteString(conn, begin) // a reset shows in the answer
	for tick := time.NewTicker(300 * time.Millisecond); ; {
		select {
		case <-ended:
			tick.Stop()
			if timeout, ok := errors.AsType[net.Error](failed); ok && timeout.Timeout() {
				return time.Since(began), "", errors.New("it is still listened to")
			}
			return time.Since(began), string(answer), nil
		case <-tick.C:
			if begin != "" {
				_, _ = io.WriteString(conn, "x")
			}
		}
	}
}

// othersServed wants all draws since then to have been decided.
func (t *trial) othersServed(from time.Duration) {
	for _, o := range t.History.Ops() {
		if o.Call > from && !o.Won() && !o.Refused() {
			t.Verdict.Say(history.Fault, "beside clients that only take room: %s", &o)
		}
	}
}

// idle holds thousands of connections that once asked for something.
func idle(t *trial) error {
	const connections = 3000
	from := t.History.Now()
	var mu sync.Mutex
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	var failed error
	const openers = 20
	client.Parallel(openers, func(n int) {
		for k := n; k < connections; k += openers {
			conn, err := linger(t.Instances[k%len(t.Instances)].Address)
			mu.Lock()
			failed = errors.Join(failed, err)
			if conn != nil {
				open = append(open, conn)
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	if failed != nil {
		return fmt.Errorf("open %d connections: %w", connections, failed)
	}
	t.Sleep(2000, 2500)
	for n, i := range t.Instances {
		if now := t.Metrics(i)["go_goroutines"]; now < float64(len(open)/len(t.Instances)) {
			return fmt.Errorf("instance %d has only %.0f goroutines: the connections did not stay open", n, now)
		}
	}
	t.Note("%d idle connections", len(open))
	t.othersServed(from)
	return nil
}

// linger opens a connection, asks once, and stays.
func linger(address string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return conn, err
	}
	buffer := make([]byte, 512)
	n, err := conn.Read(buffer)
	if err == nil && !strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 200") {
		err = fmt.Errorf("answered %q", buffer[:n])
	}
	return conn, err
}
