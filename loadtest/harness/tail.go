package harness

import (
	"bytes"
	"regexp"
	"sync"
)

// Tail keeps the end of what a program prints, and the address that it says it
// listens on. It is safe for concurrent use.
type Tail struct {
	// Address gets the first address that is printed, once.
	Address <-chan string

	mu      sync.Mutex
	most    int
	text    []byte
	passed  bool
	address chan string
}

// NewTail returns a Tail that keeps the given number of bytes at most.
func NewTail(most int) *Tail {
	address := make(chan string, 1)
	return &Tail{Address: address, most: most, address: address}
}

func listening() *regexp.Regexp {
	return regexp.MustCompile(`(?i)listen[^\n]*?(127\.0\.0\.1:[1-9]\d*)`)
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if !t.passed && bytes.HasSuffix(t.text, []byte("\n")) {
		if m := listening().FindSubmatch(t.text); m != nil {
			t.passed = true
			t.address <- string(m[1])
		}
	}
	t.text = t.text[max(0, len(t.text)-t.most):]
	return len(p), nil
}

// String returns what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
