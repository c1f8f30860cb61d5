package hook

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
)

const (
	// HooksMax is the maximum number of hooks.
	HooksMax = 20
	// FilterMax is the maximum number of pools, and of prizes, that a filter names.
	FilterMax = 100
	// RotationMax is the time during which messages also have the signature of a former
	// secret.
	RotationMax = 24 * time.Hour
	// FormerMax is the maximum number of former secrets that sign.
	FormerMax = 4
	// SecretLength is the length of a secret, in bytes.
	SecretLength = 32
	secretPrefix = "whsec_"
)

// State is the state of a hook.
type State string

// The states of a hook. In each state the cursors remain, so that no event is lost.
const (
	// StateOn means that events are sent. StateFailing is on, too, but a message waits for
	// its next attempt.
	StateOn      State = "on"
	StateFailing State = "failing"
	// StateOff means that nothing is sent; see Why.
	StateOff State = "off"
	// StateForked means that a pool's history differs from the one whose events were sent.
	// The hook waits for a replay.
	StateForked State = "forked"
)

// Why is the reason of StateOff.
type Why string

// The reasons. WhyGone means that the receiver answered 410. WhyExhausted means that the
// last attempt failed.
const (
	WhyOperator  Why = "operator"
	WhyGone      Why = "gone"
	WhyExhausted Why = "exhausted"
)

// Filter selects the events that are sent to a hook.
type Filter struct {
	// Types are the types of events; nil means all but award.lost.
	Types []Type
	// Pools and Prizes are ids; nil means all. Events without a prize pass the filter
	// whatever Prizes contains.
	Pools, Prizes []string
}

// Hook is a receiver to which events are sent.
type Hook struct {
	ID  string
	URL string
	Filter
	// IsOff and Why are the part of the state that is stored.
	IsOff bool
	Why   Why
	// Revision counts the changes of the hook. A relay that has read an older revision
	// moves no cursor.
	Revision int64
	// Secret signs. The secrets in Former sign, too; the latest comes first. Only relays
	// read them.
	Secret []byte
	Former []Former
	// FormerUntil is when the latest former secret stops signing, the zero time for none.
	FormerUntil time.Time
}

// Former is a secret that was replaced, but still signs until a time.
type Former struct {
	Secret []byte
	Until  time.Time
}

// Rotated returns the hook with a new secret at a time. If Secret is nil, it has been
// lost.
func (h Hook) Rotated(now time.Time) Hook {
	all := h.Former
	if h.Secret != nil {
		all = append([]Former{{h.Secret, now.Add(RotationMax)}}, all...)
	}
	var former []Former
	for _, f := range all {
		if now.Before(f.Until) && len(former) < FormerMax {
			former = append(former, f)
		}
	}
	if h.FormerUntil = now; len(former) > 0 {
		h.FormerUntil = former[0].Until
	}
	h.Secret, h.Former = NewSecret(), former
	return h
}

// Status is the state of a hook, as it is shown in addition to its settings.
type Status struct {
	State State
	// Why is the reason of StateOff, or the place of StateForked.
	Why string
	Lag Lag
	// Last is the last answer, the zero value for none.
	Last Answer
	// NextAt is when the next attempt is due, the zero time for none.
	NextAt time.Time
}

// Lag is the backlog of a hook.
type Lag struct {
	// Events is the number of entries of the history that the hook has not passed.
	Events int64
	// Oldest is the time of the oldest of these entries, the zero time for none.
	Oldest time.Time
}

// Seen is a hook with its status.
type Seen struct {
	Hook
	Status
}

// Create is a request to create a hook.
type Create struct {
	URL string
	Filter
	// FromStart means that events of the whole history are sent; otherwise only events from
	// now on.
	FromStart bool
}

// Change is a request to change a hook; nil members leave their values unchanged.
type Change struct {
	URL    *string
	Types  *[]Type
	Pools  *[]string
	Prizes *[]string
	// IsOff turns the hook off if true, and on if false.
	IsOff *bool
}

// Check returns an error unless the change may be requested. Error: CodeInvalidRequest.
func (c *Change) Check() error {
	if *c == (Change{}) {
		return draw.Errorf(draw.CodeInvalidRequest, "nothing to change: give url, types, pools, prizes or state")
	}
	return nil
}

// Changed returns the hook after a change.
func (h Hook) Changed(c *Change) Hook {
	if c.URL != nil {
		h.URL = *c.URL
	}
	if c.Types != nil {
		h.Types = *c.Types
	}
	if c.Pools != nil {
		h.Pools = *c.Pools
	}
	if c.Prizes != nil {
		h.Prizes = *c.Prizes
	}
	if c.IsOff != nil {
		if h.IsOff, h.Why = *c.IsOff, ""; h.IsOff {
			h.Why = WhyOperator
		}
	}
	h.Revision++
	return h
}

// Check returns an error unless a hook may have the filter. Error: CodeInvalidRequest.
func (f *Filter) Check() error {
	if f.Types != nil && len(f.Types) == 0 {
		return draw.Errorf(draw.CodeInvalidRequest, "types is empty; leave it out, or give null, for all but award.lost")
	}
	for i, t := range f.Types {
		if !slices.Contains(Types(), t) || slices.Contains(f.Types[:i], t) {
			return draw.Errorf(draw.CodeInvalidRequest, "types: %q is not a type of events, or is named twice", string(t))
		}
	}
	for name, ids := range map[string][]string{"pools": f.Pools, "prizes": f.Prizes} {
		if ids != nil && len(ids) == 0 || len(ids) > FilterMax {
			return draw.Errorf(draw.CodeInvalidRequest, "%s must name 1 to %d; leave it out, or give null, for all", name, FilterMax)
		}
		for i, id := range ids {
			if err := draw.CheckID("an id of "+name, id); err != nil {
				return err
			}
			if slices.Contains(ids[:i], id) {
				return draw.Errorf(draw.CodeInvalidRequest, "%s: %q is named twice", name, id)
			}
		}
	}
	return nil
}

// Effective returns the types of events that pass the filter.
func (f *Filter) Effective() []Type {
	if f.Types != nil {
		return f.Types
	}
	return slices.DeleteFunc(Types(), func(t Type) bool { return t == TypeLost })
}

// Wants reports whether an event passes the filter.
func (f *Filter) Wants(e *Event) bool {
	if f.Types == nil && e.Type == TypeLost || f.Types != nil && !slices.Contains(f.Types, e.Type) {
		return false
	}
	return e.PrizeID == "" || f.Prizes == nil || slices.Contains(f.Prizes, e.PrizeID)
}

// WantsPool reports whether a pool passes the filter.
func (f *Filter) WantsPool(id string) bool { return f.Pools == nil || slices.Contains(f.Pools, id) }

// IsLike reports whether two filters let the same events pass.
func (f *Filter) IsLike(other *Filter) bool {
	return hasSame(f.Effective(), other.Effective()) && (f.Pools == nil) == (other.Pools == nil) && (f.Prizes == nil) == (other.Prizes == nil) &&
		hasSame(f.Pools, other.Pools) && hasSame(f.Prizes, other.Prizes)
}

func hasSame[T ~string](a, b []T) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// NewSecret returns a new secret.
func NewSecret() []byte {
	secret := make([]byte, SecretLength)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// ShowSecret returns a secret in the form of Standard Webhooks.
func ShowSecret(secret []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

const (
	hookIDLength    = 10
	messageIDLength = 15
)

// NewID returns the id of a new hook.
func NewID() string { return "hook-" + strings.ToLower(randomText(hookIDLength)) }

// NewMessageID returns the id of a new message.
func NewMessageID() string { return "msg_" + randomText(messageIDLength) }

// randomText returns n random bytes, a multiple of 5, in base 32.
func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return base32.StdEncoding.EncodeToString(b)
}

// ErrNotFound returns the error of a call for a hook that does not exist.
func ErrNotFound(id string) error {
	return draw.Errorf(draw.CodeHookNotFound, "hook %q does not exist", id)
}
