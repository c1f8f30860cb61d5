package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/procfs"

	"drawsvc/internal/http/floods"
	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/report"
)

const (
	// floodFor is how long each role floods; floodRounds is the minimum number of times
	// that all honest calls are made during it.
	floodFor    = 6 * time.Second
	floodRounds = 9
	// floodAnswerMax is the maximum time of an honest call.
	floodAnswerMax = 20 * time.Second
	// chartValues is the file with the memory limit of a container.
	chartValues = "deploy/chart/values.yaml"
	// runtimePart is the part of that limit that the service sets for the Go runtime in
	// a container.
	runtimePart = 0.9
	mebibyte    = 1 << 20
)

// floodOfEveryRole floods an instance with every call that each role may make. No call
// of a higher role is refused or slow, and the memory stays below the chart's limit.
func floodOfEveryRole() Experiment {
	return Experiment{
		Name: "flood of every role", own: true, run: floodedByRoles, timeout: edgeTimeout, Longest: 10 * time.Minute, base: withSeedKeys,
		flags:  append(stage.SeedFlags(), "--connections-max", "200"),
		places: []place{{"sqlite", lockmode.ForUpdate, "", 1}, {"postgres", lockmode.ForUpdate, "", 1}, {"mysql", lockmode.ForUpdate, "", 1}},
	}
}

// floodTimes are the times of the honest calls, in order.
type floodTimes struct {
	order []string
	took  map[string][]float64
}

func (f *floodTimes) add(c *floods.Call, took time.Duration) {
	name := c.String()
	if f.took == nil {
		f.took = map[string][]float64{}
	}
	if f.took[name] == nil {
		f.order = append(f.order, name)
	}
	f.took[name] = append(f.took[name], report.Milliseconds(took))
}

// medians returns the medians of the calls.
func (f *floodTimes) medians() map[string]float64 {
	all := map[string]float64{}
	for name, took := range f.took {
		slices.Sort(took)
		all[name] = took[len(took)/2]
	}
	return all
}

func floodedByRoles(t *trial) error {
	limit := t.chartMemory()
	s := t.floodable(limit)
	t.Must(s.Prepare(t.Ctx))
	var usual floodTimes
	for n := range 2 * floodRounds {
		t.Must(s.Ask(t.Ctx, "none", -n-1, usual.add))
	}
	t.Floods = &client.Floods{Limit: limit}
	for _, name := range usual.order {
		t.Floods.Calls = append(t.Floods.Calls, client.FloodedCall{Call: name, Usual: usual.medians()[name], Under: map[string]float64{}})
	}
	for _, role := range floods.Roles() {
		t.floodBy(s, role)
	}
	for i := range t.Floods.Calls {
		c := &t.Floods.Calls[i]
		for role, took := range c.Under {
			if c.IsSlow(took) {
				t.Verdict.Say(history.Overdue, "while %s floods, %s takes %.0f ms; without it %.1f ms", role, c.Call, took, c.Usual)
			}
		}
	}
	t.Floods.Peak = t.peakMemory()
	t.Note("peak memory %d MiB; the limit of the chart is %d MiB", t.Floods.Peak, limit)
	if t.Floods.Peak >= limit {
		t.Verdict.Say(history.Fault, "the service used %d MiB of memory, of %d", t.Floods.Peak, limit)
	}
	return nil
}

// floodBy floods the service with the calls of a role, and measures the honest calls.
func (t *trial) floodBy(s *floods.Service, role string) {
	var times floodTimes
	end := s.Flood(role)
	begun, n := time.Now(), 0
	for ; t.Ctx.Err() == nil && (n < floodRounds || time.Since(begun) < floodFor); n++ {
		if err := s.Ask(t.Ctx, role, n, times.add); err != nil {
			t.Verdict.Say(history.Fault, "while %s floods: %v", role, err)
			break
		}
	}
	answered, err := end()
	t.Must(err)
	t.Note("%s: %d rounds of honest calls beside %d of the flood", role, n, answered)
	if answered < int64(n) {
		t.Verdict.Say(history.Fault, "%s does not flood: %d calls", role, answered)
	}
	medians := times.medians()
	for i := range t.Floods.Calls {
		if took, ok := medians[t.Floods.Calls[i].Call]; ok {
			t.Floods.Calls[i].Under[role] = took
		}
	}
}

// floodable starts the instance again with a token of each role, and with the memory
// limit that the service sets for the Go runtime in the chart's container.
func (t *trial) floodable(limit int64) *floods.Service {
	s := &floods.Service{URL: t.Instances[0].URL(), Tokens: map[string]string{}, AnswerMax: floodAnswerMax}
	f := &tokenFile{t, filepath.Join(t.Site.TempDir(), "tokens.json")}
	var all []named
	for _, role := range floods.Roles()[1:] {
		token := t.newToken(role, role)
		s.Tokens[role] = token.token
		all = append(all, token)
	}
	t.Must(f.write(all...))
	t.Instances[0].Env = append(t.Instances[0].Env, fmt.Sprintf("GOMEMLIMIT=%d", int64(runtimePart*float64(limit*mebibyte))))
	f.begin()
	return s
}

// chartMemory returns the memory limit of the chart's container, in MiB.
func (t *trial) chartMemory() int64 {
	text, err := os.ReadFile(chartValues)
	t.Must(err)
	limit, err := parseChartMemory(text)
	t.Must(err)
	return limit
}

func parseChartMemory(text []byte) (int64, error) {
	var values struct {
		Resources struct{ Limits struct{ Memory string } }
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return 0, err
	}
	memory := values.Resources.Limits.Memory
	number, ok := strings.CutSuffix(memory, "Mi")
	if !ok {
		return 0, fmt.Errorf("%s: the memory limit %q is not in Mi", chartValues, memory)
	}
	return strconv.ParseInt(number, 10, 64)
}

// peakMemory returns the maximum memory that the instance has used since its start, in
// MiB.
func (t *trial) peakMemory() int64 {
	process, err := procfs.NewProc(t.Instances[0].Process.PID())
	t.Must(err)
	status, err := process.NewStatus()
	t.Must(err)
	return int64(status.VmHWM / mebibyte) //nolint:gosec // far below the maximum
}
