package experiments

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// clientFaults are those of the callers.
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

// clientsGone lets clients hang up at any moment of a request.
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

// badAmongGood asks at once for draws of which some can never be: each is
// answered for itself, and the good ones are served.
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
	// What remains suffices for the good ones and for no greedy one, whichever
	// comes first.
	all := slices.Concat(greedy, good, known, others)
	t.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return t.mustAnswer(t.atOnce(all), map[string]int{"won": 60, "replayed": 20, "idempotency-key-reused": 20, "sold-out": 20})
}

// bad is a request that no service should take.
type bad struct {
	name    string
	method  string
	path    string
	headers map[string]string
	body    string
	status  int
	code    string
}

// malformedRequests are refused before anything is decided.
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
	request.URL.Opaque = b.path // as it stands
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
