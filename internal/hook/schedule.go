package hook

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// retryAfterMax bounds the wait that a receiver may request.
const retryAfterMax = 24 * time.Hour

// waits returns the waits before the second and each later attempt of a message.
func waits() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

// AttemptsMax is the maximum number of attempts of a message.
func AttemptsMax() int { return len(waits()) + 1 }

// WaitAfter returns how long a message waits after a number of failed attempts, at least
// as long as the receiver requests. ok is false after the last attempt. part, from 0 to
// 1, spreads the wait by 10 % in both directions.
func WaitAfter(failed int, asked time.Duration, part float64) (wait time.Duration, ok bool) {
	all := waits()
	if failed > len(all) {
		return 0, false
	}
	wait = all[max(failed, 1)-1]
	wait += time.Duration((part - 0.5) / 5 * float64(wait))
	return max(wait, min(asked, retryAfterMax)), true
}

// readRetryAfter returns the wait that an answer requests, 0 for none.
func readRetryAfter(status int, h http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return min(time.Duration(seconds)*time.Second, retryAfterMax) //nolint:gosec // 32 bits
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), retryAfterMax)
	}
	return 0
}
