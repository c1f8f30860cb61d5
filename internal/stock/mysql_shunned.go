package stock

import (
	"slices"
	"sync"
	"time"
)

// shunTime is how long a host that did not take a connection is asked last.
const shunTime = 10 * time.Second

// shunned remembers which hosts failed, for all pools of a store, so that one
// that hangs costs its time now and then and not for every connection.
type shunned struct {
	mu    sync.Mutex
	until map[int]time.Time
}

func (s *shunned) add(host int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[int]time.Time{}
	}
	s.until[host] = time.Now().Add(shunTime)
}

// order returns the places of n hosts in the order in which to ask them.
func (s *shunned) order(n int) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hosts, last []int
	for host := range n {
		if time.Now().Before(s.until[host]) {
			last = append(last, host)
		} else {
			hosts = append(hosts, host)
		}
	}
	return slices.Concat(hosts, last)
}
