package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"drawsvc/loadtest/faults/history"
)

// stepNames returns the steps of an evening in order, which are scenarios of
// evening.js.
func stepNames() []string {
	return []string{"ramp", "peak", "failover", "rollout", "restock", "close"}
}

// step holds the observations of callers in one step of an evening.
type step struct {
	Name string `json:"name"`
	// Seconds is the time during which new draws arrived. Act is the time that the
	// step's command took, 0 if it has none.
	Seconds float64 `json:"seconds"`
	Act     float64 `json:"act_seconds"`
	Draws   int     `json:"draws"`
	// Unsent counts draws that k6 was too late to send.
	Unsent   int `json:"unsent"`
	Requests int `json:"requests"`
	// Answers counts answers by status; requests without an answer are counted under
	// noAnswer.
	Answers map[string]int `json:"answers"`
	// P99 is the 99th percentile of the times of the answers, Slowest the longest time of
	// a draw with its retries, in milliseconds.
	P99     float64 `json:"p99_ms"`
	Slowest float64 `json:"slowest_draw_ms"`
	// Gap is the longest time without an answer that decides a draw, in seconds.
	Gap float64 `json:"longest_gap_seconds"`
}

// noAnswer is the status of a request without an answer.
const noAnswer = "0"

// answer is one answer to a request, or none.
type answer struct {
	at     time.Time
	step   string
	status string
	ms     float64
}

// decides reports whether the caller knows the outcome of its draw.
func (a answer) decides() bool { return a.status[0] == '2' || a.status[0] == '4' }

// samples are k6's records of an evening.
type samples struct {
	answers []answer
	ops     []history.Op
	slowest map[string]float64
	unsent  map[string]int
}

// readSamples reads the CSV of k6.
func readSamples(file, pool string) (*samples, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	rows := csv.NewReader(f)
	rows.ReuseRecord = true
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("the samples of k6: %w", err)
	}
	names := slices.Clone(head)
	s := &samples{slowest: map[string]float64{}, unsent: map[string]int{}}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err == nil {
			err = s.take(pool, func(name string) string {
				if n := slices.Index(names, name); n >= 0 {
					return row[n]
				}
				return ""
			})
		}
		if err != nil {
			return nil, fmt.Errorf("the samples of k6: %w", err)
		}
	}
}

func (s *samples) take(pool string, cell func(name string) string) error {
	name, metric := cell("scenario"), cell("metric_name")
	if !slices.Contains(stepNames(), name) || !slices.Contains([]string{"http_req_duration", "settled", "dropped_iterations"}, metric) {
		return nil
	}
	value, err := strconv.ParseFloat(cell("metric_value"), 64)
	if err != nil {
		return err
	}
	switch metric {
	case "http_req_duration":
		at, err := strconv.ParseInt(cell("timestamp"), 10, 64)
		if err != nil {
			return err
		}
		status := cell("status")
		if status == "" {
			status = noAnswer
		}
		s.answers = append(s.answers, answer{time.UnixMilli(at), name, status, value})
	case "dropped_iterations":
		s.unsent[name] += int(value)
	case "settled":
		s.slowest[name] = max(s.slowest[name], value)
		o, err := parseDraw(pool, cell("metadata"))
		s.ops = append(s.ops, o)
		return err
	}
	return nil
}

// parseDraw reads "draw=KEY USER COUNT STATUS AWARDS"; awards are VERSION.UNIT.PRIZE,
// separated by semicolons.
func parseDraw(pool, metadata string) (o history.Op, err error) {
	parts := strings.Split(strings.TrimPrefix(metadata, "draw="), " ")
	if len(parts) != 5 {
		return o, fmt.Errorf("%q is not a draw", metadata)
	}
	o = history.Op{Kind: history.Draw, Pool: pool, Key: parts[0], User: parts[1], Sent: true}
	var errs [2]error
	o.Count, errs[0] = strconv.Atoi(parts[2])
	o.Status, errs[1] = strconv.Atoi(parts[3])
	err = errors.Join(errs[:]...)
	for award := range strings.SplitSeq(parts[4], ";") {
		if award == "" || err != nil {
			continue
		}
		var a history.Award
		_, err = fmt.Sscanf(award, "%d.%d.%s", &a.Version, &a.Unit, &a.Prize)
		o.Awards = append(o.Awards, a)
	}
	return o, err
}

// steps sums up the samples of each step.
func (s *samples) steps() (all []step) {
	if len(s.answers) == 0 {
		return nil
	}
	begins, end := map[string]time.Time{}, time.Time{}
	for _, a := range s.answers {
		sent := a.at.Add(-time.Duration(a.ms * float64(time.Millisecond)))
		if was, known := begins[a.step]; !known || sent.Before(was) {
			begins[a.step] = sent
		}
		if a.at.After(end) {
			end = a.at
		}
	}
	next := end
	for _, name := range slices.Backward(stepNames()) {
		begin, known := begins[name]
		if !known {
			continue
		}
		all = append(all, s.sum(name, begin, next))
		next = begin
	}
	slices.Reverse(all)
	return all
}

func (s *samples) sum(name string, begin, end time.Time) step {
	st := step{Name: name, Seconds: end.Sub(begin).Seconds(), Answers: map[string]int{}, Slowest: s.slowest[name], Unsent: s.unsent[name]}
	var times []float64
	decided := []time.Time{begin}
	for _, a := range s.answers {
		if a.decides() {
			decided = append(decided, a.at)
		}
		if a.step != name {
			continue
		}
		st.Requests++
		st.Answers[a.status]++
		if a.status != noAnswer {
			times = append(times, a.ms)
		}
		if a.decides() {
			st.Draws++
		}
	}
	if slices.Sort(times); len(times) > 0 {
		st.P99 = times[len(times)*99/100]
	}
	// A gap counts in the step in which it begins. The end of a step ends a gap,
	// because the load continues.
	slices.SortFunc(decided, time.Time.Compare)
	for n, from := range decided {
		until := end
		if n+1 < len(decided) {
			until = decided[n+1]
		}
		if !from.Before(begin) && from.Before(end) {
			st.Gap = max(st.Gap, until.Sub(from).Seconds())
		}
	}
	return st
}
