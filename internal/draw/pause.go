package draw

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Pause is the message for callers that draw during a pause. The zero value has no
// message.
type Pause struct {
	// RetryAfter, if positive, means that the pool will open again: draws are refused
	// with CodePaused, and a retry is worthwhile. Otherwise they are refused with
	// CodePoolNotOpen.
	RetryAfter time.Duration
	// Notice is shown to players, and Reason is shown only to administrators; "" for
	// none.
	Notice, Reason string
}

const (
	// PauseMax is the maximum RetryAfter of a pause.
	PauseMax = 24 * time.Hour
	// PauseTextMax is the maximum number of characters of a notice, or of a reason.
	PauseTextMax = 200
	// pauseWaitMax is the maximum time that a caller of a paused pool is asked to wait,
	// because the pool may open sooner than announced.
	pauseWaitMax = time.Minute
	// pauseWaitPart determines how much of the wait is fixed: one part in pauseWaitPart.
	// The rest is random.
	pauseWaitPart = 5
)

// Check returns an error unless the pause is valid.
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

// pauseBody is a pause in the body of a change of state.
type pauseBody struct {
	State      State  `json:"state"`
	RetryAfter string `json:"retry_after,omitzero"`
	Reason     string `json:"reason,omitzero"`
	Notice     string `json:"notice,omitzero"`
}

// Body returns the body of the change that pauses a pool.
func (p *Pause) Body() string {
	b := pauseBody{State: StatePaused, Reason: p.Reason, Notice: p.Notice}
	if p.RetryAfter > 0 {
		b.RetryAfter = shortDuration(p.RetryAfter)
	}
	body, _ := json.Marshal(b) // texts that were checked are valid UTF-8
	return string(body)
}

// shortDuration formats a duration without the zeros at its end, such as 5m.
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

// PauseOf reads the pause of a change of state. A body that has no pause, or cannot be
// read, gives the zero value. Draws are refused in that case too.
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

// Wait returns the time after which a caller may retry. It is random, so that callers
// that were refused at the same moment do not return at the same moment.
func (p *Pause) Wait() time.Duration {
	most := min(p.RetryAfter, pauseWaitMax)
	least := most / pauseWaitPart
	return least + rand.N(most-least+1)
}
