package draw

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Pause is what a pause says to those who draw meanwhile. The zero value says nothing.
type Pause struct {
	// RetryAfter, above 0, says that the pool opens again: draws are refused with
	// CodePaused, and are worth a retry. Else they are refused with CodePoolNotOpen.
	RetryAfter time.Duration
	// Notice is shown to players, Reason only to administrators; "" for none.
	Notice, Reason string
}

const (
	// PauseMax is the longest RetryAfter of a pause.
	PauseMax = 24 * time.Hour
	// PauseTextMax is the most characters of a notice, or of a reason.
	PauseTextMax = 200
	// pauseWaitMax is the longest that a caller is asked to wait for a pool that is
	// paused: it may be opened sooner than was said.
	pauseWaitMax = time.Minute
	// pauseWaitPart is the part of the wait that is certain; the rest is random.
	pauseWaitPart = 5
)

// Check reports whether the pause may be asked for.
func (p *Pause) Check() error {
	if p.RetryAfter != 0 && (p.RetryAfter < time.Second || p.RetryAfter > PauseMax) {
		return Errorf(CodeInvalidRequest, "retry_after must be 1s to 24h, such as 5m, or 0s for none")
	}
	for member, text := range map[string]string{"notice": p.Notice, "reason": p.Reason} {
		if text == "" {
			continue
		}
		if err := checkText(member, text, PauseTextMax); err != nil {
			return err
		}
	}
	return nil
}

// pauseBody is a pause as the body of a change of state has it.
type pauseBody struct {
	State      State  `json:"state"`
	RetryAfter string `json:"retry_after,omitzero"`
	Reason     string `json:"reason,omitzero"`
	Notice     string `json:"notice,omitzero"`
}

// Body is the body of the change that pauses a pool.
func (p *Pause) Body() string {
	b := pauseBody{State: StatePaused, Reason: p.Reason, Notice: p.Notice}
	if p.RetryAfter > 0 {
		b.RetryAfter = shortDuration(p.RetryAfter)
	}
	body, _ := json.Marshal(b) // texts that were checked are valid UTF-8
	return string(body)
}

// shortDuration is a duration without the zeros at its end, such as 5m.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// PauseOf reads the pause of a change of state. A body that says nothing of one, or
// that cannot be read, is the zero value: it refuses draws all the same.
func PauseOf(body string) Pause {
	var b pauseBody
	if err := json.Unmarshal([]byte(body), &b); err != nil || b.State != StatePaused {
		return Pause{}
	}
	after, err := time.ParseDuration(b.RetryAfter)
	if err != nil {
		after = 0
	}
	return Pause{RetryAfter: after, Notice: b.Notice, Reason: b.Reason}
}

// Wait is the time after which a caller may try again: random, so that those who were
// refused at once do not come back at once.
func (p *Pause) Wait() time.Duration {
	most := min(p.RetryAfter, pauseWaitMax)
	least := most / pauseWaitPart
	return least + rand.N(most-least+1)
}
