package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

func clientFaults() []Experiment {
	one := []place{{"sqlite", lockmode.ForUpdate, "", 1}, {"postgres", lockmode.ForUpdate, "", 2}, {"mysql", lockmode.ForUpdate, "", 2}}
	return []Experiment{
		crowdedPool(),
		{Name: "clients gone in mid-request", Number: 5, places: everywhere(2), soaks: true, run: clientsGone},
		{Name: "bad requests among good ones in a batch", Number: 21, places: everywhere(2), own: true, timeout: edgeTimeout, run: badAmongGood},
		{Name: "malformed requests", Number: 22, places: one, soaks: true, run: malformed},
		{Name: "huge requests", Number: 22, places: one, soaks: true, run: huge},
		{Name: "slow requests", Number: 22, places: one, run: slow},
		guessFlood(),
		auditFlood(),
		{Name: "thousands of idle connections", Number: 22, places: one, run: idle},
	}
}

func clientsGone(t *trial) error {
	const leaving = 120
	for n := range leaving {
		ctx, leave := context.WithCancel(t.Ctx)
		stay := time.Duration(t.Rand.Int64N(int64(20 * time.Millisecond)))
		timer := time.AfterFunc(stay, leave)
		key := t.Key()
		t.Send(ctx, history.Op{Kind: history.Draw, Pool: t.Pool(client.MainPool), Key: key, User: "left", Count: 1, Client: 3000, Instance: n % len(t.Instances)})
		timer.Stop()
		leave()
	}
	return nil
}

// badAmongGood sends draws at once. Some of them can never succeed. Each draw gets its
// own answer, and the good draws win.
func badAmongGood(t *trial) error {
	pool := t.edge(9, 101)
	first := t.atOnce(t.asking(pool, 20))
	t.Must(t.mustAnswer(first, map[string]int{"won": 20}))
	good := t.asking(pool, 60)
	known, others, greedy := make([]history.Op, 0, 20), make([]history.Op, 0, 20), t.asking(pool, 20)
	for k := range first {
		o := history.Op{Kind: history.Draw, Pool: pool, Key: first[k].Key, User: first[k].User, Count: 1, Client: 4000 + k, Instance: k % len(t.Instances)}
		known = append(known, o)
		o.User = "another"
		others = append(others, o)
		greedy[k].Count, greedy[k].Client = 100, 5000+k
	}
	// In any order, the remaining units suffice for the good draws and for none of the
	// draws that request too many.
	all := slices.Concat(greedy, good, known, others)
	t.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return t.mustAnswer(t.atOnce(all), map[string]int{"won": 60, "replayed": 20, "idempotency-key-reused": 20, "sold-out": 20})
}

// bad is a request that no service should accept.
type bad struct {
	name    string
	method  string
	path    string
	headers map[string]string
	body    string
	status  int
	code    string
}

func malformedRequests(pool string) []bad {
	fine := `{"pool":"` + pool + `","user":"u"}`
	draw := func(name, body string) bad {
		return bad{name, http.MethodPost, "/draw", nil, body, http.StatusBadRequest, "invalid-request"}
	}
	with := func(name, header, value string, status int, code string) bad {
		return bad{name, http.MethodPost, "/draw", map[string]string{header: value}, fine, status, code}
	}
	return []bad{
		draw("empty", ""), draw("no object", "[]"), draw("cut off", fine[:len(fine)-3]), draw("trailing data", fine+fine),
		draw("unknown member", `{"pool":"p","user":"u","prize":"gold"}`), draw("member twice", `{"pool":"p","pool":"q","user":"u"}`),
		draw("wrong type", `{"pool":1,"user":"u"}`), draw("count below", `{"pool":"p","user":"u","count":0}`),
		draw("count above", `{"pool":"p","user":"u","count":101}`), draw("count no integer", `{"pool":"p","user":"u","count":1.5}`),
		draw("count beyond int64", `{"pool":"p","user":"u","count":99999999999999999999}`), draw("no user", `{"pool":"p"}`),
		draw("long user", `{"pool":"p","user":"`+strings.Repeat("x", 129)+`"}`), draw("not UTF-8", "{\"pool\":\"p\",\"user\":\"\xff\"}"),
		draw("bad pool", `{"pool":"../admin","user":"u"}`), draw("null byte", `{"pool":"p","user":"a\u0000b"}`),
		draw("deep", strings.Repeat(`{"pool":`, 7_000)),
		with("wrong type of body", "Content-Type", "text/plain", http.StatusUnsupportedMediaType, "unsupported-media-type"),
		with("long key", "Idempotency-Key", strings.Repeat("k", 129), http.StatusBadRequest, "invalid-request"),
		with("half a quoted key", "Idempotency-Key", `"k`, http.StatusBadRequest, "invalid-request"),
		with("wrong token", "Authorization", "Bearer "+harness.AdminToken+"x", http.StatusUnauthorized, "unauthorized"),
		{"wrong method", http.MethodPut, "/draw", nil, fine, http.StatusMethodNotAllowed, "method-not-allowed"},
		{"nowhere", http.MethodPost, "/../../etc/passwd", nil, fine, http.StatusNotFound, "not-found"},
		{"no such pool", http.MethodPost, "/draw", nil, `{"pool":"nobody-made-it","user":"u"}`, http.StatusNotFound, "pool-not-found"},
		{"too large", http.MethodPost, "/draw", nil, `{"pool":"` + strings.Repeat("p", 65<<10) + `"}`, http.StatusRequestEntityTooLarge, "body-too-large"},
	}
}

func malformed(t *trial) error {
	for range 5 {
		for _, b := range malformedRequests(t.Pool(client.MainPool)) {
			i := t.Any()
			status, code, err := t.sendBad(i, b)
			if err != nil || status != b.status || code != b.code {
				t.Verdict.Say(history.Fault, "%s: answered %d %s %v, must be %d %s", b.name, status, code, err, b.status, b.code)
			}
		}
	}
	return nil
}

func (t *trial) sendBad(i *stage.Instance, b bad) (status int, code string, err error) {
	ctx, cancel := context.WithTimeout(t.Ctx, t.Limit()+client.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, b.method, i.URL(), strings.NewReader(b.body))
	if err != nil {
		return 0, "", err
	}
	request.URL.Opaque = b.path // unencoded
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+harness.DrawToken)
	for name, value := range b.headers {
		request.Header.Set(name, value)
	}
	response, err := t.Client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	var a client.Answer
	err = json.NewDecoder(response.Body).Decode(&a)
	return response.StatusCode, a.Code, err
}

// memoryMore is how much additional memory an instance may use after hundreds of
// megabytes were sent to it.
const memoryMore = 64 << 20

// huge sends endless bodies and headers: each is refused, or its connection is closed
// early, and memory does not grow.
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

// memory returns the memory that each instance uses, in bytes.
func (t *trial) memory() []float64 {
	var all []float64
	for _, i := range t.Instances {
		all = append(all, t.Metrics(i)["process_resident_memory_bytes"])
	}
	return all
}

// pour sends bytes until the server closes the connection. It is an error if the server
// does not, or if it accepts the request.
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
		return 0, nil // the server closed the connection
	}
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for sent < most {
		n, err := conn.Write(chunk)
		sent += n
		if err != nil {
			break // the server closed the connection
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

// slowMax is the maximum time in which a request may arrive, with some grace: 5 s for
// its head, 10 s in all.
const slowMax = 14 * time.Second

// slow makes clients send one byte at a time, at long intervals. The service must answer
// them 408 or close the connection, and must not delay other clients.
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

// drip sends a byte every 300 ms until the server closes the connection.
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

// othersServed demands that all draws after the given time were decided.
func (t *trial) othersServed(from time.Duration) {
	for _, o := range t.History.Ops() {
		if o.Call > from && !o.Won() && !o.Refused() {
			t.Verdict.Say(history.Fault, "beside clients that only take room: %s", &o)
		}
	}
}

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

const (
	// crowdedCallers is the number of callers that draw at once, each of them unit by
	// unit, until there are crowdedDraws draws.
	crowdedCallers = 64
	crowdedDraws   = 8000
	// crowdedKnown keys are known before; one of them is repeated in place of every
	// 20th draw.
	crowdedKnown = 25
	crowdedAgain = 20
	// crowdedMax is the maximum number of draws in 1,000 that may be refused because the
	// pool is busy.
	crowdedMax = 1
)

// crowdedPool makes optimistic instances conflict on one pool all the time. Nearly
// every draw wins, and a known key always gets its answer.
func crowdedPool() Experiment {
	places := []place{{"postgres", lockmode.Optimistic, "", 3}, {"mysql", lockmode.Optimistic, "", 3}}
	return Experiment{Name: "64 clients on one pool of optimistic instances", places: places, own: true, timeout: edgeTimeout, run: crowded}
}

func crowded(t *trial) error {
	pool := t.Pool(client.MainPool)
	known := t.asking(pool, crowdedKnown)
	for n := range known {
		t.Must(t.insist(known[n]))
	}
	from := t.History.Now()
	fresh := t.asking(pool, crowdedDraws)
	var next atomic.Int64
	client.Parallel(crowdedCallers, func(client int) {
		for n := int(next.Add(1)) - 1; n < len(fresh); n = int(next.Add(1)) - 1 {
			o := fresh[n]
			if n%crowdedAgain == 0 {
				o = known[n/crowdedAgain%len(known)]
			}
			o.Client, o.Instance = client, client%len(t.Instances)
			t.Send(t.Ctx, o)
		}
	})
	t.judgeCrowd(from, t.History.Now())
	return nil
}

func (t *trial) judgeCrowd(from, to time.Duration) {
	answers := map[string]int{}
	for _, o := range t.History.Ops() {
		if o.Call >= from && o.Return <= to && o.Kind == history.Draw {
			answers[o.Answer()]++
		}
	}
	busy := answers["contended"]
	t.Note("%d of %d draws were answered that the pool is busy", busy, crowdedDraws)
	if busy*1000 > crowdedDraws*crowdedMax {
		t.Verdict.Say(history.Fault, "answered that the pool is busy: %d of %d draws, at most %d of 1,000 may be", busy, crowdedDraws, crowdedMax)
	}
	delete(answers, "contended")
	if answers["won"]+answers["replayed"]+busy != crowdedDraws || answers["replayed"] != crowdedDraws/crowdedAgain {
		t.Verdict.Say(history.Fault, "answers are %v; %d must be replayed, and all others won", answers, crowdedDraws/crowdedAgain)
	}
	t.replaysAreNotBusy()
}
