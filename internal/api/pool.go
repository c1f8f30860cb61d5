package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// Pools is a page of pools.
type Pools struct {
	Pools []Pool `json:"pools"`
	// Next is the parameter after of the next page, null if this is the last.
	Next *string `json:"next"`
}

// Pool is a pool as the operator sees it.
type Pool struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	State draw.State `json:"state"`
	// Mode is null if the pool uses the service's mode.
	Mode     *string `json:"mode"`
	Version  int64   `json:"version"`
	Revision int64   `json:"revision"`
	// Rules is the version of the rules in force, 0 for none.
	Rules int64 `json:"rules"`
	// Committed is the version of the pool's commitment, 0 for none.
	Committed int64 `json:"committed"`
	Archived  bool  `json:"archived"`
	// Opening is the announced round of the beacon with which the pool will open, left out
	// if none is announced.
	Opening *Opening `json:"opening,omitzero"`
	// Currency is the currency of the values, left out for none.
	Currency string `json:"currency,omitzero"`
	// Text is a text for players, left out for none. Fair means that the pool has a public
	// page of fairness.
	Text string `json:"text,omitzero"`
	Fair bool   `json:"fair,omitzero"`
	// Budget and Nothing are set only if a single pool is read. They are the current state
	// of its budget, and the reason why nothing can be won.
	Budget  *Budget  `json:"budget,omitzero"`
	Nothing *Nothing `json:"nothing,omitzero"`
	Prizes  []Prize  `json:"prizes"`
}

// Opening is a round that was announced, and the time of the round.
type Opening struct {
	Round int64  `json:"round"`
	At    string `json:"at"`
}

// Time parses At.
func (o *Opening) Time() (time.Time, error) { return readTime(o.At) }

// ShowPool converts a pool to its response type.
func ShowPool(p *draw.Pool) Pool {
	shown := Pool{
		ID: p.ID, Name: p.Name, State: p.State, Mode: orNil(p.Mode), Version: p.Version, Revision: p.Revision, Rules: p.RulesVersion,
		Committed: p.Committed, Archived: p.Archived, Currency: p.Currency, Text: p.Text, Fair: p.IsFair, Prizes: ShowEach(p.Prizes, ShowPrize),
	}
	if p.Round != 0 {
		shown.Opening = &Opening{p.Round, ShowTime(p.RoundAt)}
	}
	return shown
}

// PoolName is the part of a pool that the role fulfil may read.
type PoolName struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	State draw.State `json:"state"`
}

// IsNameOnly reports whether the pool was read as PoolName.
func (p *Pool) IsNameOnly() bool { return p.Prizes == nil }

// Seen returns what the reader may see of the pool.
func (p *Pool) Seen() any {
	if p.IsNameOnly() {
		return PoolName{p.ID, p.Name, p.State}
	}
	return p
}

// PoolNames is a page of pools for the role fulfil.
type PoolNames struct {
	Pools []PoolName `json:"pools"`
	// Next is the parameter after of the next page, null if this is the last.
	Next *string `json:"next"`
}

// ShowPoolName returns the part of a pool that the role fulfil may read.
func ShowPoolName(p *draw.Pool) PoolName { return PoolName{p.ID, p.Name, p.State} }

// NewPool is the body of POST /admin/pools.
type NewPool struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Mode   *string     `json:"mode"`
	State  *draw.State `json:"state"`
	Prizes *[]NewPrize `json:"prizes"`
	// Rules is a document of rules, unchanged.
	Rules jsontext.Value `json:"rules,omitzero"`
	// Currency is a code of ISO 4217, for display only.
	Currency *string `json:"currency,omitzero"`
}

// Read returns the pool that the body describes. It does not check the mode. Error:
// CodeInvalidRequest.
func (b *NewPool) Read() (draw.Pool, error) {
	p := draw.Pool{ID: b.ID, Name: b.Name, Mode: orEmpty(b.Mode), State: draw.StateOpen, Currency: orEmpty(b.Currency)}
	if b.State != nil {
		p.State = *b.State
	}
	if b.Prizes == nil {
		return p, draw.Errorf(draw.CodeInvalidRequest, "prizes is missing")
	}
	var err error
	if p.Prizes, err = readEach(*b.Prizes, (*NewPrize).Read); err != nil {
		return p, err
	}
	if err := cmp.Or(p.Check(), draw.CheckStart(p.State)); err != nil {
		return p, err
	}
	if len(b.Rules) == 0 || b.Rules.Kind() == 'n' {
		return p, nil
	}
	if p.Rules, err = rules.Parse(b.Rules); err != nil {
		return p, err
	}
	return p, p.Rules.Check(p.Prizes)
}

// PoolChange is the body of PATCH /admin/pools/{pool}. Members are kept as JSON where
// null and an absent member have different meanings.
type PoolChange struct {
	Name     jsontext.Value `json:"name,omitzero"`
	State    jsontext.Value `json:"state,omitzero"`
	Mode     jsontext.Value `json:"mode,omitzero"`
	Archived *bool          `json:"archived,omitzero"`
	Currency jsontext.Value `json:"currency,omitzero"`
	Text     jsontext.Value `json:"text,omitzero"`
	Fair     *bool          `json:"fair,omitzero"`
	// RetryAfter, Notice and Reason describe a pause.
	RetryAfter *string `json:"retry_after,omitzero"`
	Notice     *string `json:"notice,omitzero"`
	Reason     *string `json:"reason,omitzero"`
	// Round and Signature are the beacon's round, for the state open.
	Round     *int64  `json:"round,omitzero"`
	Signature *string `json:"signature,omitzero"`
}

// Read returns the change that the body describes. It checks a mode by checkMode. Error:
// CodeInvalidRequest.
func (b *PoolChange) Read(checkMode func(mode string) error) (draw.PoolChange, error) {
	change := draw.PoolChange{Archived: b.Archived, Fair: b.Fair}
	var err error
	if (b.Round == nil) != (b.Signature == nil) {
		return change, draw.Errorf(draw.CodeInvalidRequest, "round and signature belong together")
	}
	if b.Round != nil {
		change.Round = &draw.Round{Number: *b.Round, Signature: *b.Signature}
	}
	if change.Pause, err = b.readPause(); err != nil {
		return change, err
	}
	if change.Name, err = readText("name", b.Name); err != nil {
		return change, err
	}
	if change.Currency, err = readTextOrNull("currency", b.Currency); err != nil {
		return change, err
	}
	if change.Text, err = readTextOrNull("text", b.Text); err != nil {
		return change, err
	}
	state, err := readText("state", b.State)
	if err != nil {
		return change, err
	}
	change.State = (*draw.State)(state)
	if b.Mode.Kind() == 'n' {
		change.Mode = new(string)
		return change, change.Check()
	}
	if change.Mode, err = readText("mode", b.Mode); err != nil {
		return change, err
	}
	if change.Mode != nil {
		if err := checkMode(*change.Mode); err != nil {
			return change, err
		}
	}
	return change, change.Check()
}

// readPause returns the pause that the body describes, nil if no member of a pause was
// sent.
func (b *PoolChange) readPause() (*draw.Pause, error) {
	if b.RetryAfter == nil && b.Notice == nil && b.Reason == nil {
		return nil, nil //nolint:nilnil // most changes do not pause
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

// SetState changes the state.
func (b *PoolChange) SetState(s draw.State) { b.State = RawText((*string)(&s)) }

// SetPause sets the members of a pause.
func (b *PoolChange) SetPause(p *draw.Pause) {
	after := p.RetryAfter.String()
	b.RetryAfter, b.Notice, b.Reason = &after, orNil(p.Notice), orNil(p.Reason)
}

// CreatePool creates a pool with its prizes.
func (c *Client) CreatePool(ctx context.Context, p *NewPool) (Pool, error) {
	return send[Pool](ctx, c, newCall(http.MethodPost, pathOf("admin", "pools")), p)
}

// Pool returns one pool with its prizes. Error: CodePoolNotFound.
func (c *Client) Pool(ctx context.Context, poolID string) (Pool, error) {
	return see[Pool](ctx, c, poolPath(poolID))
}

// archivedWord returns the value of the parameter archived, "" for none.
func archivedWord(a draw.Archived) string {
	switch a {
	case draw.ArchivedToo:
		return "true"
	case draw.ArchivedOnly:
		return "only"
	default:
		return ""
	}
}

// EachPool calls do with each pool that wanted selects, in the order of their ids. It
// holds only one page of pools in memory.
func (c *Client) EachPool(ctx context.Context, wanted draw.PoolFilter, do func(*Pool) error) error {
	query := url.Values{"limit": {strconv.Itoa(PageUsual)}}
	for name, value := range map[string]string{"q": wanted.Words, "state": string(wanted.State), "archived": archivedWord(wanted.Archived)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for {
		page, err := seeList[Pools](ctx, c, pathOf("admin", "pools")+"?"+query.Encode())
		if err != nil {
			return err
		}
		for i := range page.Pools {
			if err := do(&page.Pools[i]); err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		if err := checkNext(query.Get("after"), *page.Next); err != nil {
			return err
		}
		query.Set("after", *page.Next)
	}
}

// PoolIDs returns the ids of all pools in order, including archived ones.
func (c *Client) PoolIDs(ctx context.Context) (ids []string, err error) {
	err = c.EachPool(ctx, draw.PoolFilter{Archived: draw.ArchivedToo}, func(p *Pool) error {
		ids = append(ids, p.ID)
		return nil
	})
	return ids, err
}

// ChangePool changes a pool if its current revision is among revisions; nil allows every
// revision. Errors: CodeInvalidRequest, CodePoolNotFound, CodeChangedMeanwhile,
// CodePoolClosed.
func (c *Client) ChangePool(ctx context.Context, poolID string, revisions []int64, change *PoolChange) (Pool, error) {
	call := newCall(http.MethodPatch, poolPath(poolID))
	call.IfMatch = matching(revisions)
	return send[Pool](ctx, c, call, change)
}

// DeletePool removes a pool that has never issued a unit. Errors: CodePoolNotFound,
// CodeChangedMeanwhile, CodeAlreadyIssued.
func (c *Client) DeletePool(ctx context.Context, poolID string, revisions []int64) error {
	call := newCall(http.MethodDelete, poolPath(poolID))
	call.IfMatch = matching(revisions)
	_, err := c.caller.Do(ctx, call)
	return err
}
