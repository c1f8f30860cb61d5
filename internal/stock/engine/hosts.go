package engine

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// hostFailed is the time for which a host that failed is tried after all others.
const hostFailed = 10 * time.Second

// Hosts records which of several hosts accepted the last connection and which failed. All
// pools of connections of a store share it, so that not every connection has to wait for
// a host that hangs. The zero value has no records yet.
type Hosts struct {
	mu     sync.Mutex
	last   string
	failed map[string]time.Time
}

// Took records that a host accepted a connection: it is tried first from now on.
func (h *Hosts) Took(host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = host
	delete(h.failed, host)
}

// Failed records that a host failed: it is tried last for a while.
func (h *Hosts) Failed(host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		h.failed = map[string]time.Time{}
	}
	h.failed[host] = time.Now()
}

// Leave records that the host of the last connection failed.
func (h *Hosts) Leave() {
	h.mu.Lock()
	last := h.last
	h.last = ""
	h.mu.Unlock()
	if last != "" {
		h.Failed(last)
	}
}

// InOrder returns all hosts in the order in which to try them. It is the configured
// order, changed by the recorded successes and failures.
func InOrder[T any](h *Hosts, all []T, name func(T) string) []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	rank := func(host T) int {
		switch failed, ok := h.failed[name(host)]; {
		case ok && time.Since(failed) < hostFailed:
			return 2
		case name(host) == h.last:
			return 0
		}
		return 1
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y T) int { return cmp.Compare(rank(x), rank(y)) })
	return all
}
