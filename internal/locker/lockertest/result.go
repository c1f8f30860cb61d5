package lockertest

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// Result contains what several tests have measured for one lock. Times are in
// milliseconds. Values that were not measured are left out.
type Result struct {
	Lock, Server string
	// File means that there is no server. In the service, only one process uses the file.
	File bool `json:",omitzero"`
	// Cores is the number of cores that the service, its callers and all servers share.
	Cores int `json:",omitzero"`
	// TTL is the requested lease.
	TTL float64 `json:",omitzero"`

	// Contenders is the number of contenders for one key. Overlaps is the number of times
	// that two of them held it at once.
	Contenders int  `json:",omitzero"`
	Overlaps   int  `json:",omitzero"`
	TokenGrows bool `json:",omitzero"`
	// KilledFree is the time from the death of a holder to the next hold, PausedFree the
	// time from the pause of a holder.
	KilledFree    float64 `json:",omitzero"`
	PausedFree    float64 `json:",omitzero"`
	StaleRejected bool    `json:",omitzero"`
	RenewedTerms  int     `json:",omitzero"`
	Reentrant     bool    `json:",omitzero"`
	// TryOnce is the duration of a refused attempt. WaitOver is the time by which a wait
	// exceeds its limit.
	TryOnce  float64 `json:",omitzero"`
	WaitOver float64 `json:",omitzero"`
	// Runs is the number of queues that were measured, InOrder the number of those that were
	// served in order of arrival.
	Runs     int     `json:",omitzero"`
	InOrder  int     `json:",omitzero"`
	HandOver float64 `json:",omitzero"`
	// Waiters is the number of waiters that were measured at a release, 0 without links.
	// Wakes means that waiters are woken instead of polling.
	Waiters         int     `json:",omitzero"`
	Wakes           bool    `json:",omitzero"`
	AsksPerSecond   float64 `json:",omitzero"`
	WokenPerRelease float64 `json:",omitzero"`

	// The results of faults. DownRefused and BrokenRefused are the durations of a call while
	// the server is down, or its link is broken. BackAfter is the time from the server's
	// return until the lock works. Seen are further observations.
	DownRefused   float64  `json:",omitzero"`
	BrokenRefused float64  `json:",omitzero"`
	BackAfter     float64  `json:",omitzero"`
	Seen          []string `json:",omitzero"`
}

// outVariable names the file to which results are appended, one JSON object per line.
const outVariable = "DRAWSVC_LOCKS_OUT"

// measuring reports whether results are to be written, so that nothing else should run.
func measuring() bool { return os.Getenv(outVariable) != "" }

// Measuring reports whether results are to be written. Tests then run one by one.
func Measuring() bool { return measuring() }

// newResult returns a result that is written if the test passes.
func newResult(tb testing.TB, s Subject) *Result {
	r := &Result{Lock: s.Scheme(), Server: s.Kind, File: s.Kind == "sqlite", Cores: runtime.NumCPU(), TTL: milliseconds(s.TTL)}
	tb.Cleanup(func() {
		if !measuring() || tb.Failed() || s.Flaw != "" {
			return
		}
		if err := r.append(os.Getenv(outVariable)); err != nil {
			tb.Errorf("the results were not written: %v", err)
		}
	})
	return r
}

func (r *Result) append(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(r)
}

func errHerd(woken float64) error {
	return fmt.Errorf("a release wakes %.1f waiters, where one is enough", woken)
}
