package api

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// Item is an item of an agenda.
type Item struct {
	Item  int64      `json:"item"`
	At    string     `json:"at"`
	State draw.State `json:"state,omitzero"`
	// Moment is the prize of a moment, left out for other items.
	Moment string `json:"moment,omitzero"`
	Prize  string `json:"prize,omitzero"`
	Delta  int64  `json:"delta,omitzero"`
	// Reason is the reason of a stock item.
	Reason string `json:"reason,omitzero"`
	// Rules is null for an item that removes the rules.
	Rules jsontext.Value `json:"rules,omitzero"`
	Actor string         `json:"actor"`
	// Done is the version of the entry that carried the item out. It is null until then.
	Done *int64 `json:"done"`
	// Failed is the code of the reason why the item could not be carried out.
	Failed draw.Code `json:"failed,omitzero"`
}

// ShowItem converts an item to its response type.
func ShowItem(i *draw.Item) Item {
	shown := Item{Item: i.Number, At: ShowTime(i.At), Actor: i.Actor, Failed: i.Failed}
	switch i.Kind {
	case draw.ItemState:
		shown.State = i.State
	case draw.ItemStock:
		shown.Prize, shown.Delta, shown.Reason = i.Stock.PrizeID, i.Stock.Delta, i.Stock.Reason
	case draw.ItemMoment:
		shown.Moment = i.Stock.PrizeID
	case draw.ItemRules:
		shown.Rules = showDocument(i.Rules)
	}
	if i.Done != 0 {
		shown.Done = &i.Done
	}
	return shown
}

// showDocument returns a document of rules as a member, null for no rules.
func showDocument(r *draw.Rules) jsontext.Value {
	if r == nil {
		return rawNull()
	}
	return jsontext.Value(r.Document())
}

// Read converts the item to the domain.
func (b *Item) Read() (i draw.Item, err error) {
	i = draw.Item{Number: b.Item, Actor: b.Actor, Failed: b.Failed}
	if i.At, err = readTime(b.At); err != nil {
		return i, err
	}
	if b.Done != nil {
		i.Done = *b.Done
	}
	switch {
	case b.State != "":
		i.Kind, i.State = draw.ItemState, b.State
	case b.Moment != "":
		i.Kind, i.Stock = draw.ItemMoment, draw.MomentOf(b.Moment)
	case b.Prize != "":
		i.Kind, i.Stock = draw.ItemStock, draw.Stocking{PrizeID: b.Prize, Delta: b.Delta, Reason: b.Reason}
	default:
		i.Kind = draw.ItemRules
		if len(b.Rules) > 0 {
			i.ReadBody(`{"rules":`+string(b.Rules)+`}`, rules.ReadOf) // the service may be of a later release
		}
	}
	return i, nil
}

// PlannedItem is the answer to planning an item.
type PlannedItem struct {
	Item
	Replayed bool `json:"replayed"`
}

// ShowPlannedItem converts a planned item to its response type.
func ShowPlannedItem(i *draw.Item) PlannedItem { return PlannedItem{ShowItem(i), i.Replayed} }

// Hidden is what others see of items that are hidden until they are done. The items are
// for one prize, and were planned together.
type Hidden struct {
	Prize string `json:"prize"`
	// Count is the number of units in the items.
	Count int64 `json:"count"`
	// From and To are the bounds of the spread, null for an import.
	From   *string `json:"from"`
	To     *string `json:"to"`
	SHA256 string  `json:"sha256"`
	// Version is the version of the change that planned the items. Moment means that the
	// items are moments.
	Version int64 `json:"version"`
	Moment  bool  `json:"moment"`
}

// AgendaLine is either an item of an agenda, or the visible form of hidden items. The
// other member is nil.
type AgendaLine struct {
	*Item
	Hidden *Hidden `json:"hidden,omitzero"`
}

// ShowLine converts an item, or the visible form of hidden items, to its response type.
func ShowLine(i *draw.Item) AgendaLine {
	if h := i.Hidden; h != nil {
		return AgendaLine{Hidden: &Hidden{h.PrizeID, h.Count, ShowTimeOrNull(h.From), ShowTimeOrNull(h.To), h.SHA256, h.Version, h.IsMoments}}
	}
	return AgendaLine{Item: new(ShowItem(i))}
}

// Read converts the visible form to the domain.
func (h *Hidden) Read() (draw.Hidden, error) {
	read := draw.Hidden{PrizeID: h.Prize, Count: h.Count, SHA256: h.SHA256, Version: h.Version, IsMoments: h.Moment}
	if h.From == nil || h.To == nil {
		return read, nil
	}
	var err error
	if read.From, err = readTime(*h.From); err != nil {
		return read, err
	}
	read.To, err = readTime(*h.To)
	return read, err
}

// Agenda is a page of items.
type Agenda struct {
	Items []AgendaLine `json:"items"`
	// Hidden is the number of the page's open stock items that the caller may not see.
	Hidden int `json:"hidden,omitzero"`
	End
}

// AgendaSums are the sums of the units that an agenda releases, except for hidden items.
type AgendaSums struct {
	// First and Last are the times of the first and of the last item, null for none.
	First *string     `json:"first"`
	Last  *string     `json:"last"`
	Sums  []AgendaSum `json:"sums"`
	// Hidden is the number of open moves of stock that the caller may not see.
	Hidden int64 `json:"hidden,omitzero"`
}

// AgendaSum is the sum over a prize's items between two of the given times.
type AgendaSum struct {
	Span    int    `json:"span"`
	Prize   string `json:"prize"`
	Items   int64  `json:"items"`
	Planned int64  `json:"planned"`
	Done    int64  `json:"done"`
	Failed  int64  `json:"failed"`
}

// ShowAgendaSums converts sums to their response type, with the number of moves that they
// exclude.
func ShowAgendaSums(s *draw.AgendaSums) AgendaSums {
	return AgendaSums{ShowTimeOrNull(s.First), ShowTimeOrNull(s.Last), ShowEach(s.Sums, func(s *draw.AgendaSum) AgendaSum {
		return AgendaSum{s.Span, s.PrizeID, s.Items, s.Planned, s.Done, s.Failed}
	}), s.Omitted}
}

// NewItem is the body of POST …/agenda. It has at, and one of state, rules, moment, or
// prize with delta and reason.
type NewItem struct {
	At     *string        `json:"at,omitzero"`
	State  *draw.State    `json:"state,omitzero"`
	Prize  *string        `json:"prize,omitzero"`
	Delta  *int64         `json:"delta,omitzero"`
	Reason *string        `json:"reason,omitzero"`
	Rules  jsontext.Value `json:"rules,omitzero"`
	// Moment is the prize of a moment.
	Moment *string `json:"moment,omitzero"`
}

// Read returns the item that the body describes. Error: CodeInvalidRequest.
func (b *NewItem) Read() (i draw.Item, err error) {
	if b.At == nil {
		return i, draw.Errorf(draw.CodeInvalidRequest, "at is missing")
	}
	if i.At, err = draw.ParseTime("at", *b.At); err != nil {
		return i, err
	}
	isStock := b.Prize != nil || b.Delta != nil || b.Reason != nil
	switch {
	case b.Moment != nil && b.State == nil && len(b.Rules) == 0 && !isStock:
		i.Kind, i.Stock = draw.ItemMoment, draw.MomentOf(*b.Moment)
		return i, i.Check()
	case b.Moment != nil:
		return i, errItemForm()
	case b.State != nil && len(b.Rules) == 0 && !isStock:
		i.Kind, i.State = draw.ItemState, *b.State
	case b.State == nil && len(b.Rules) > 0 && !isStock:
		i.Kind = draw.ItemRules
		if b.Rules.Kind() != 'n' {
			i.Rules, err = rules.Parse(b.Rules)
		}
	case b.State == nil && len(b.Rules) == 0 && b.Prize != nil && b.Delta != nil && b.Reason != nil:
		i.Kind, i.Stock = draw.ItemStock, draw.Stocking{PrizeID: *b.Prize, Delta: *b.Delta, Reason: *b.Reason}
	default:
		return i, errItemForm()
	}
	if err != nil {
		return i, err
	}
	return i, i.Check()
}

func errItemForm() error {
	return draw.Errorf(draw.CodeInvalidRequest, "an item has at, and one of state, rules, moment, or prize with delta and reason")
}

// Planned is the answer to planning items together.
type Planned struct {
	Item     int64  `json:"item"`
	Count    int    `json:"count"`
	Version  int64  `json:"version"`
	SHA256   string `json:"sha256"`
	Salt     string `json:"salt"`
	Replayed bool   `json:"replayed"`
	// Encoding is the file's encoding, omitted if the items did not come from a file.
	Encoding draw.Encoding `json:"encoding,omitzero"`
}

// ShowPlanned converts the result of planning to its response type.
func ShowPlanned(p *draw.Planned) Planned {
	return Planned{p.First, p.Count, p.Version, p.Seal.SHA256, p.Seal.Salt, p.Replayed, p.Encoding}
}

// AgendaFile is the answer to a dry run of an import: what the file would plan.
type AgendaFile struct {
	DryRun   bool          `json:"dry_run"`
	Encoding draw.Encoding `json:"encoding"`
	// Items are in the order of the file.
	Items []FileItem `json:"items"`
}

// FileItem is an item of a file. Delta is the number of units that it adds; below zero,
// it withdraws them.
type FileItem struct {
	At     string `json:"at"`
	Prize  string `json:"prize"`
	Units  int64  `json:"units"`
	Moment bool   `json:"moment"`
}

// ShowAgendaFile converts the items of a file to their response type.
func ShowAgendaFile(items []draw.Item, encoding draw.Encoding) AgendaFile {
	return AgendaFile{true, encoding, ShowEach(items, func(i *draw.Item) FileItem {
		return FileItem{ShowTime(i.At), i.Stock.PrizeID, i.Stock.Delta, i.Kind == draw.ItemMoment}
	})}
}

// NewSpread is the body of POST …/agenda/spread. Without every, the times are random.
type NewSpread struct {
	Prize  string  `json:"prize"`
	Units  int64   `json:"units"`
	From   string  `json:"from"`
	To     string  `json:"to"`
	Every  *string `json:"every,omitzero"`
	Random bool    `json:"random,omitzero"`
	// Moment makes each unit a moment. Moments have no reason.
	Moment bool    `json:"moment,omitzero"`
	Reason *string `json:"reason,omitzero"`
}

// SpreadReason is the reason of the moves if the caller gives none.
const SpreadReason = draw.AgendaReason

// Read returns the schedule that the body describes. Error: CodeInvalidRequest.
func (b *NewSpread) Read() (s draw.Spread, err error) {
	s = draw.Spread{PrizeID: b.Prize, Units: b.Units, Reason: SpreadReason}
	switch {
	case b.Moment && b.Reason != nil:
		return s, draw.Errorf(draw.CodeInvalidRequest, "moments have no reason of their own")
	case b.Moment:
		s.IsMoments, s.Reason = true, draw.MomentReason
	case b.Reason != nil:
		s.Reason = *b.Reason
	}
	if b.Random == (b.Every != nil) {
		return s, draw.Errorf(draw.CodeInvalidRequest, "give one of every and random")
	}
	if b.Every != nil {
		if s.Every, err = time.ParseDuration(*b.Every); err != nil || s.Every <= 0 {
			return s, draw.Errorf(draw.CodeInvalidRequest, "every must be a time such as 1h")
		}
	}
	if s.From, err = draw.ParseTime("from", b.From); err != nil {
		return s, err
	}
	s.To, err = draw.ParseTime("to", b.To)
	return s, err
}

// PlanItem plans an item. Calls with the same key plan it once. Without a key, a retry is
// not reported as a replay. Errors: CodeInvalidRequest, CodePoolNotFound, CodePoolClosed,
// CodeKeyReused.
func (c *Client) PlanItem(ctx context.Context, poolID, key string, item *NewItem) (PlannedItem, error) {
	planned, err := plan[PlannedItem](ctx, c, poolID, key, item)
	planned.Replayed = planned.Replayed && key != ""
	return planned, err
}

// PlanMoment plans a moment as an import of one item. Calls with the same key plan it
// once. Errors: those of PlanItem.
func (c *Client) PlanMoment(ctx context.Context, poolID, key string, item *NewItem) (Planned, error) {
	planned, err := plan[Planned](ctx, c, poolID, key, item)
	planned.Replayed = planned.Replayed && key != ""
	return planned, err
}

func plan[Out any](ctx context.Context, c *Client, poolID, key string, item *NewItem) (Out, error) {
	call := newCall(http.MethodPost, poolPath(poolID, "agenda"))
	call.Key, call.IsNamed = key, true
	return send[Out](ctx, c, call, item)
}

// RemovePlanned removes the open items that were planned together by the change at a
// version. Errors: CodePoolNotFound, CodeNotFound, CodeAgendaDone.
func (c *Client) RemovePlanned(ctx context.Context, poolID string, version int64) error {
	_, err := c.caller.Do(ctx, newCall(http.MethodDelete, poolPath(poolID, "agenda", "imports", strconv.FormatInt(version, 10))))
	return err
}

// RemoveItem removes an item that is not done. Errors: CodePoolNotFound, CodeNotFound,
// CodeAgendaDone.
func (c *Client) RemoveItem(ctx context.Context, poolID string, item int64) error {
	_, err := c.caller.Do(ctx, newCall(http.MethodDelete, poolPath(poolID, "agenda", strconv.FormatInt(item, 10))))
	return err
}

// Agenda returns the whole agenda of a pool, in the order of the items' numbers. If open
// is set, it leaves out items that are done. Error: CodePoolNotFound.
func (c *Client) Agenda(ctx context.Context, poolID string, open bool) (all Agenda, err error) {
	for after := int64(0); ; {
		query := pageOf(after)
		query.Set("open", strconv.FormatBool(open))
		page, err := seeList[Agenda](ctx, c, poolPath(poolID, "agenda")+"?"+query.Encode())
		if err != nil {
			return Agenda{}, err
		}
		if all = (Agenda{append(all.Items, page.Items...), all.Hidden + page.Hidden, page.End}); page.Next == nil {
			return all, nil
		}
		if err := checkNext(after, *page.Next); err != nil {
			return Agenda{}, err
		}
		after = *page.Next
	}
}

// ReadItems returns the visible items, and the visible forms of the hidden items.
func ReadItems(lines []AgendaLine) (items []draw.Item, hidden []draw.Hidden, err error) {
	for _, line := range lines {
		if line.Hidden != nil {
			h, err := line.Hidden.Read()
			if err != nil {
				return nil, nil, err
			}
			hidden = append(hidden, h)
			continue
		}
		if line.Item == nil {
			continue // an item of a later release
		}
		i, err := line.Item.Read()
		if err != nil {
			return nil, nil, err
		}
		items = append(items, i)
	}
	return items, hidden, nil
}

// ImportAgenda plans the moves of a file. Calls with the same key plan them once. Without
// a key, a retry is not reported as a replay. Errors: CodeInvalidRequest,
// CodePoolNotFound, CodeKeyReused, CodeBodyTooLarge, CodeOverloaded.
func (c *Client) ImportAgenda(ctx context.Context, poolID, key string, file io.Reader) (Planned, error) {
	call := newImport(poolPath(poolID, "agenda", "import"), key, file)
	call.IsNamed = true
	p, err := fetch[Planned](ctx, c, call)
	p.Replayed = p.Replayed && key != ""
	return p, err
}

// SpreadAgenda plans the units of a prize over a span of time. Key and errors are as in
// ImportAgenda.
func (c *Client) SpreadAgenda(ctx context.Context, poolID, key string, s *NewSpread) (Planned, error) {
	call := newCall(http.MethodPost, poolPath(poolID, "agenda", "spread"))
	call.Key, call.IsNamed, call.AttemptMax = key, true, importAttemptMax
	p, err := send[Planned](ctx, c, call, s)
	p.Replayed = p.Replayed && key != ""
	return p, err
}
