package client

import "time"

// Floods holds the measurements of an experiment while the service was flooded.
type Floods struct {
	// Peak is the maximum memory that the service used, Limit the limit of its
	// container, both in MiB.
	Peak  int64 `json:"peak_mib"`
	Limit int64 `json:"limit_mib"`
	// Calls are the honest calls: those that no flood may make slow.
	Calls []FloodedCall `json:"calls"`
}

// FloodedCall has the median times of an honest call in milliseconds: without a flood,
// and during the flood of each role.
type FloodedCall struct {
	Call  string             `json:"call"`
	Usual float64            `json:"usual_ms"`
	Under map[string]float64 `json:"under_ms"`
}

// Worst returns the longest median, and the role whose flood caused it.
func (c *FloodedCall) Worst() (took float64, role string) {
	for of, ms := range c.Under {
		if ms > took || ms == took && of < role {
			took, role = ms, of
		}
	}
	return took, role
}

// The bounds of a call during a flood. Its median must stay below a multiple of the
// median without a flood, or below an absolute time.
const (
	floodedTimes = 10
	floodedShort = 500 * time.Millisecond
)

// IsSlow reports whether a median exceeds both bounds.
func (c *FloodedCall) IsSlow(under float64) bool {
	return under >= floodedTimes*c.Usual && under >= float64(floodedShort.Milliseconds())
}
