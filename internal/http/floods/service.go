package floods

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Service is a service that is flooded.
type Service struct {
	URL string
	// Tokens are the tokens of the roles except "none".
	Tokens map[string]string
	// AnswerMax is the maximum time of an honest call.
	AnswerMax time.Duration
}

// newRequest returns a call with the token of a role.
func (s *Service) newRequest(ctx context.Context, c *Call, role string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, c.Method, s.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.Contains(c.Path, "/import") {
		r.Header.Set("Content-Type", "text/csv")
	}
	r.Header.Set("Accept", c.Accept)
	if token := s.Tokens[role]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, nil
}

// call makes a call of its role on a new connection, with a key unless it is "". Any
// answer except a successful one is an error.
func (s *Service) call(ctx context.Context, c *Call, key string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: s.AnswerMax}
	r, err := s.newRequest(ctx, c, c.maker())
	if err != nil {
		return err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s is answered %d: %.300s", c, answer.StatusCode, text)
	}
	return nil
}

// Prepare creates the pools of the calls: one with many prizes and rules, a small one,
// and one that is committed, drawn from and revealed. The service needs keys for seeds.
func (s *Service) Prepare(ctx context.Context) error {
	const open = `"state":"open"`
	var prizes strings.Builder
	prizes.WriteString("prize,name,value,stock,kind\nnone,No win,,,blank\n")
	for i := range 1000 {
		fmt.Fprintf(&prizes, "p%d,Prize %d,1.00,1000000,\n", i, i)
	}
	for _, step := range []struct {
		method, path, body, key string
	}{
		{"POST", "/admin/pools", `{"id":"` + poolFew + `","name":"Summer",` + open + `,"prizes":[{"id":"gold","name":"Gold","stock":5}]}`, ""},
		{"POST", "/admin/pools", `{"id":"` + poolRevealed + `","name":"Revealed","state":"paused","prizes":[{"id":"gold","name":"Gold","stock":1000}]}`, ""},
		{"POST", "/admin/pools/" + poolRevealed + "/commitment", `{"origin":"draws.example.org"}`, ""},
		{"PATCH", "/admin/pools/" + poolRevealed, `{` + open + `}`, ""},
		{"POST", "/admin/pools", `{"id":"` + poolMany + `","name":"Spring",` + open + `,"prizes":[]}`, ""},
		{"POST", "/admin/pools/" + poolMany + "/import", prizes.String(), ""},
		{"PUT", "/admin/pools/" + poolMany + "/rules", `{"fallback":"none","disclose":true,"limits":[{"of":"draws","max":1000000,"per":"day"}]}`, ""},
		{"PATCH", "/admin/pools/" + poolMany, `{"fair":true}`, ""},
		{"POST", "/draw", `{"pool":"` + poolMany + `","user":"u"}`, "known"},
		{"POST", "/draw", `{"pool":"` + poolRevealed + `","user":"u"}`, "known"},
		{"POST", "/draw", `{"pool":"` + poolRevealed + `","user":"u","count":100}`, "more-1"},
		{"POST", "/draw", `{"pool":"` + poolRevealed + `","user":"u","count":100}`, "more-2"},
		{"POST", "/draw", `{"pool":"` + poolRevealed + `","user":"u","count":100}`, "more-3"},
		{"PATCH", "/admin/pools/" + poolRevealed, `{"state":"closed"}`, ""},
		{"POST", "/admin/pools/" + poolRevealed + "/reveal", "", ""},
	} {
		if err := s.call(ctx, &Call{"admin", step.method, step.path, "", step.body}, step.key); err != nil {
			return err
		}
	}
	return nil
}

// Measure is called with a call and the time that it took.
type Measure func(c *Call, took time.Duration)

// Ask makes each call of the roles that are higher than the role above. Then it makes a
// draw, its replay, and the probes. It returns the first failure. n distinguishes the
// rounds.
func (s *Service) Ask(ctx context.Context, above string, n int, measure Measure) error {
	won := honestDraw()
	key := fmt.Sprintf("%s-%d", above, n)
	for _, c := range callsAbove(above) {
		if err := s.timed(ctx, &c, "", measure); err != nil {
			return err
		}
	}
	if err := s.timed(ctx, &won, key, measure); err != nil {
		return err
	}
	if err := s.call(ctx, &won, key); err != nil {
		return fmt.Errorf("the replay: %w", err)
	}
	for _, c := range probes() {
		if err := s.timed(ctx, &c, "", measure); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) timed(ctx context.Context, c *Call, key string, measure Measure) error {
	begun := time.Now()
	err := s.call(ctx, c, key)
	measure(c, time.Since(begun))
	return err
}
