package http

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

// Admin satisfies what the service needs of a store for its admin calls.
var (
	_ Pools   = (*Admin)(nil)
	_ Deleter = (*Admin)(nil)
	_ Auditor = (*Admin)(nil)
)

// CreatePool implements Pools.
func (a *Admin) CreatePool(ctx context.Context, p draw.Pool, _ string) (draw.Pool, error) {
	prizes := each(p.Prizes, newPrizeBody)
	body := poolBody{ID: p.ID, Name: p.Name, State: &p.State, Prizes: &prizes}
	if p.Mode != "" {
		body.Mode = &p.Mode
	}
	if p.Rules != nil {
		body.Rules = jsontext.Value(p.Rules.Document())
	}
	made, err := send[adminPoolAnswer](ctx, a, client.Call{Method: nethttp.MethodPost, Path: path("admin", "pools")}, &body)
	if err != nil {
		return draw.Pool{}, err
	}
	return made.pool()
}

// newPrizeBody is a prize as POST …/prizes takes it.
func newPrizeBody(p *draw.Prize) prizeBody {
	value, kind := p.Value.StringFixed(2), string(kindOf(p))
	b := prizeBody{ID: p.ID, Name: p.Name, Value: &value, Kind: &kind}
	if !p.IsEndless() {
		b.Stock = &p.Stocked
	}
	return b
}

// pool reads the answer.
func (b *adminPoolAnswer) pool() (draw.Pool, error) {
	prizes, err := readEach(b.Prizes, (*adminPrizeAnswer).prize)
	p := draw.Pool{
		ID: b.ID, Name: b.Name, State: b.State, Version: b.Version, Revision: b.Revision, RulesVersion: b.Rules, Committed: b.Committed, Archived: b.Archived, Prizes: prizes,
	}
	if b.Mode != nil {
		p.Mode = *b.Mode
	}
	if b.Opening != nil {
		p.Round = b.Opening.Round
		at, bad := readTime(b.Opening.At)
		p.RoundAt, err = at, cmp.Or(err, bad)
	}
	return p, err
}

// prize reads the answer.
func (b *adminPrizeAnswer) prize() (draw.Prize, error) {
	p := draw.Prize{ID: b.ID, Name: b.Name, Kind: b.Kind, Stocked: draw.EndlessStock, Issued: b.Issued}
	if b.Stocked != nil {
		p.Stocked = *b.Stocked
	}
	var err error
	if p.Value, err = draw.ParseValue(b.Value); err != nil {
		return p, notOurs(err)
	}
	return p, nil
}

// Pool returns one pool with its prizes. Error: CodePoolNotFound.
func (a *Admin) Pool(ctx context.Context, poolID string) (draw.Pool, error) {
	found, err := see[adminPoolAnswer](ctx, a, poolPath(poolID))
	if err != nil {
		return draw.Pool{}, err
	}
	return found.pool()
}

// PoolPage implements Pools. One call has at most 1000 pools.
func (a *Admin) PoolPage(ctx context.Context, after string, limit int, archived bool) ([]draw.Pool, error) {
	query := url.Values{"limit": {strconv.Itoa(min(limit, limitMax))}}
	if after != "" {
		query.Set("after", after)
	}
	if archived {
		query.Set("archived", "true")
	}
	found, err := seeList[adminPoolsAnswer](ctx, a, path("admin", "pools")+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	if err := checkPage(after, found.Pools, func(b *adminPoolAnswer) string { return b.ID }); err != nil {
		return nil, err
	}
	return readEach(found.Pools, (*adminPoolAnswer).pool)
}

// PoolIDs returns the ids of all pools in order, archived ones among them.
func (a *Admin) PoolIDs(ctx context.Context) (ids []string, err error) {
	for {
		after := ""
		if len(ids) > 0 {
			after = ids[len(ids)-1]
		}
		found, err := a.PoolPage(ctx, after, limitUsual, true)
		if err != nil {
			return nil, err
		}
		for i := range found {
			ids = append(ids, found[i].ID)
		}
		if len(found) < limitUsual {
			return ids, nil
		}
	}
}

// ChangePool implements Pools.
func (a *Admin) ChangePool(ctx context.Context, poolID string, change draw.PoolChange, _ string) (draw.Pool, error) {
	body := changeBody{Archived: change.Archived, Name: rawText(change.Name), State: rawText((*string)(change.State)), Mode: rawText(change.Mode)}
	if change.Mode != nil && *change.Mode == "" {
		body.Mode = jsontext.Value("null")
	}
	if p := change.Pause; p != nil {
		after := p.RetryAfter.String()
		body.RetryAfter, body.Notice, body.Reason = &after, orNil(p.Notice), orNil(p.Reason)
	}
	if r := change.Round; r != nil {
		body.Round, body.Signature = &r.Number, &r.Signature
	}
	c := client.Call{Method: nethttp.MethodPatch, Path: poolPath(poolID), IfMatch: matching(change.Revisions)}
	changed, err := send[adminPoolAnswer](ctx, a, c, &body)
	if err != nil {
		return draw.Pool{}, err
	}
	return changed.pool()
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// rawText is a string as a member of a body, nothing for nil.
func rawText(s *string) jsontext.Value {
	if s == nil {
		return nil
	}
	quoted, _ := jsontext.AppendQuote(nil, *s) // invalid UTF-8 becomes U+FFFD
	return quoted
}

// DeletePool implements Deleter.
func (a *Admin) DeletePool(ctx context.Context, poolID string, revisions []int64, _ string) error {
	_, err := a.client.Do(ctx, client.Call{Method: nethttp.MethodDelete, Path: poolPath(poolID), IfMatch: matching(revisions)})
	return foreign(err)
}

// auditMax bounds the request of an audit: longer than the service's own limit.
const auditMax = 90 * time.Second

// Audit implements Auditor.
func (a *Admin) Audit(ctx context.Context, poolID string) (draw.Audit, error) {
	found, err := fetch[auditAnswer](ctx, a, client.Call{Method: nethttp.MethodGet, Path: poolPath(poolID, "audit"), AttemptMax: auditMax})
	if err != nil {
		return draw.Audit{}, err
	}
	return draw.Audit{
		PoolID: found.Pool, Version: found.Version, Found: found.violations(),
		Prizes: each(found.Prizes, func(p *prizeAuditAnswer) draw.PrizeAudit {
			return draw.PrizeAudit{
				PrizeID: p.Prize, IsEndless: p.Stocked == nil, Stocked: orEndless(p.Stocked), Issued: p.Issued, Awards: p.Awards,
				Remaining: orEndless(p.Remaining), OverIssued: p.OverIssued,
			}
		}),
		Violations: each(found.Violations, func(v *violationAnswer) draw.Violation { return draw.Violation(*v) }),
	}, nil
}

// orEndless reads a number of units, which is null for an endless blank.
func orEndless(n *int64) int64 {
	if n == nil {
		return draw.EndlessStock
	}
	return *n
}

// violations counts those of the answer, and those that it only counts itself.
func (b *auditAnswer) violations() (found int64) {
	for i := range b.Violations {
		more := int64(1)
		_, _ = fmt.Sscanf(b.Violations[i].Detail, "and %d more", &more) // any other detail is one
		found += more
	}
	return found
}

// WriteLog writes the history of a pool behind a version, a line of JSON for each
// entry, up to what it holds when the method begins. Errors: CodePoolNotFound,
// and those of w.
func (a *Admin) WriteLog(ctx context.Context, poolID string, after int64, w io.Writer) error {
	p, err := a.Pool(ctx, poolID)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for after < p.Version {
		query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(limitMax)}}
		page, err := see[struct {
			Entries []jsontext.Value `json:"entries"`
			Next    *int64           `json:"next"`
		}](ctx, a, poolPath(poolID, "log")+"?"+query.Encode())
		if err != nil {
			return err
		}
		for _, entry := range page.Entries {
			var number struct {
				Version int64 `json:"version"`
			}
			if err := json.Unmarshal(entry, &number); err != nil {
				return notOurs(err)
			}
			if number.Version > p.Version {
				return out.Flush()
			}
			if _, err := out.Write(append(entry, '\n')); err != nil {
				return err
			}
		}
		if page.Next == nil {
			break
		}
		if err := checkNext(after, *page.Next); err != nil {
			return err
		}
		after = *page.Next
	}
	return out.Flush()
}
