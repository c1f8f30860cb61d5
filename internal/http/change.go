package http

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// changeBody is the body of PATCH /admin/pools/{pool}. Its members are kept
// as they were sent: null and absent differ.
type changeBody struct {
	Name     jsontext.Value `json:"name,omitzero"`
	State    jsontext.Value `json:"state,omitzero"`
	Mode     jsontext.Value `json:"mode,omitzero"`
	Archived *bool          `json:"archived,omitzero"`
	// RetryAfter, Notice and Reason are those of a pause.
	RetryAfter *string `json:"retry_after,omitzero"`
	Notice     *string `json:"notice,omitzero"`
	Reason     *string `json:"reason,omitzero"`
	// Round and Signature are those of the beacon that state open brings.
	Round     *int64  `json:"round,omitzero"`
	Signature *string `json:"signature,omitzero"`
}

func (s *Server) change(b *changeBody) (draw.PoolChange, error) {
	change := draw.PoolChange{Archived: b.Archived}
	var err error
	if (b.Round == nil) != (b.Signature == nil) {
		return change, draw.Errorf(draw.CodeInvalidRequest, "round and signature belong together")
	}
	if b.Round != nil {
		change.Round = &draw.Round{Number: *b.Round, Signature: *b.Signature}
	}
	if change.Pause, err = b.pause(); err != nil {
		return change, err
	}
	if change.Name, err = text("name", b.Name); err != nil {
		return change, err
	}
	state, err := text("state", b.State)
	if err != nil {
		return change, err
	}
	change.State = (*draw.State)(state)
	if b.Mode.Kind() == 'n' {
		change.Mode = new(string)
		return change, change.Check()
	}
	if change.Mode, err = text("mode", b.Mode); err != nil {
		return change, err
	}
	if change.Mode != nil {
		if err := s.checkMode(*change.Mode); err != nil {
			return change, err
		}
	}
	return change, change.Check()
}

// pause reads what a pause says, nil where no member was sent.
func (b *changeBody) pause() (*draw.Pause, error) {
	if b.RetryAfter == nil && b.Notice == nil && b.Reason == nil {
		return nil, nil //nolint:nilnil // most changes are no pause
	}
	p := &draw.Pause{Notice: orEmpty(b.Notice), Reason: orEmpty(b.Reason)}
	if b.RetryAfter != nil {
		var err error
		if p.RetryAfter, err = time.ParseDuration(*b.RetryAfter); err != nil || p.RetryAfter%time.Second != 0 {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "%q must be whole seconds, such as 5m or 90s", "retry_after")
		}
	}
	return p, nil
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// text returns the string that raw holds, nil when the member was not sent.
func text(member string, raw jsontext.Value) (*string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw.Kind() != '"' {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "%q must be a string", member)
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "%q must be a string", member)
	}
	return &value, nil
}
