package http

import (
	"cmp"
	"context"
	"io"
	nethttp "net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

var (
	_ Planner   = (*Admin)(nil)
	_ Scheduler = (*Admin)(nil)
)

// PlanItem implements Planner. Without a key the item is given one, so that a lost
// answer can be asked for again.
func (a *Admin) PlanItem(ctx context.Context, poolID string, item draw.Item, key, _ string) (draw.Item, error) {
	body := newItemBody(&item)
	c := client.Call{Method: nethttp.MethodPost, Path: poolPath(poolID, "agenda"), Key: cmp.Or(key, client.NewKey())}
	answer, err := send[plannedItemAnswer](ctx, a, c, &body)
	if err != nil {
		return draw.Item{}, err
	}
	planned, err := answer.item()
	planned.Replayed = answer.Replayed && key != "" // to who gave no key a retry is no replay
	return planned, err
}

func newItemBody(i *draw.Item) itemBody {
	at := formatTime(i.At)
	b := itemBody{At: &at}
	switch i.Kind {
	case draw.ItemState:
		b.State = &i.State
	case draw.ItemStock:
		b.Prize, b.Delta, b.Reason = &i.Stock.PrizeID, &i.Stock.Delta, &i.Stock.Reason
	case draw.ItemRules:
		if b.Rules = jsontext.Value("null"); i.Rules != nil {
			b.Rules = jsontext.Value(i.Rules.Document())
		}
	}
	return b
}

// RemoveItem implements Planner.
func (a *Admin) RemoveItem(ctx context.Context, poolID string, item int64, _ string) error {
	_, err := a.client.Do(ctx, client.Call{Method: nethttp.MethodDelete, Path: poolPath(poolID, "agenda", strconv.FormatInt(item, 10))})
	return foreign(err)
}

// Agenda implements that of Agendas.
func (a *Admin) Agenda(ctx context.Context, poolID string, after int64, limit int, open bool) ([]draw.Item, error) {
	query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(min(limit, limitMax))}, "open": {strconv.FormatBool(open)}}
	read := see[agendaAnswer]
	if open { // which a simulation keeps
		read = seeList[agendaAnswer]
	}
	found, err := read(ctx, a, poolPath(poolID, "agenda")+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	if err := checkPage(after, found.Items, func(b *itemAnswer) int64 { return b.Item }); err != nil {
		return nil, err
	}
	return readEach(found.Items, (*itemAnswer).item)
}

// item reads the answer.
func (b *itemAnswer) item() (i draw.Item, err error) {
	i = draw.Item{Number: b.Item, Actor: b.Actor}
	if i.At, err = readTime(b.At); err != nil {
		return i, err
	}
	if b.Done != nil {
		i.Done = *b.Done
	}
	switch {
	case b.State != "":
		i.Kind, i.State = draw.ItemState, b.State
	case b.Prize != "":
		i.Kind, i.Stock = draw.ItemStock, draw.Stocking{PrizeID: b.Prize, Delta: b.Delta, Reason: b.Reason}
	default:
		i.Kind = draw.ItemRules
		if len(b.Rules) > 0 {
			i.ReadBody(`{"rules":` + string(b.Rules) + `}`) // the service may be of a later release
		}
	}
	return i, nil
}

// ImportAgenda implements Scheduler. The file is held in memory; the service takes
// 8 MiB. Without a key it is given one, so that a lost answer can be asked for again.
func (a *Admin) ImportAgenda(ctx context.Context, poolID string, file io.Reader, key, _ string) (draw.Planned, error) {
	text, err := readImportFile(file)
	if err != nil {
		return draw.Planned{}, err
	}
	p, err := fetch[plannedAnswer](ctx, a, client.Call{
		Method: nethttp.MethodPost, Path: poolPath(poolID, "agenda", "import"), Key: cmp.Or(key, client.NewKey()),
		ContentType: typeCSV, Body: text, AttemptMax: importAttemptMax,
	})
	return p.planned(key), err
}

// SpreadAgenda implements Scheduler. Without a key it is given one.
func (a *Admin) SpreadAgenda(ctx context.Context, poolID string, s draw.Spread, key, _ string) (draw.Planned, error) {
	body := spreadBody{Prize: s.PrizeID, Units: s.Units, From: formatTime(s.From), To: formatTime(s.To), Random: s.Every == 0, Reason: &s.Reason}
	if s.Every != 0 {
		every := s.Every.String()
		body.Every = &every
	}
	c := client.Call{
		Method: nethttp.MethodPost, Path: poolPath(poolID, "agenda", "spread"), Key: cmp.Or(key, client.NewKey()), AttemptMax: importAttemptMax,
	}
	p, err := send[plannedAnswer](ctx, a, c, &body)
	return p.planned(key), err
}

// planned reads the answer. To who gave no key a retry is no replay.
func (b *plannedAnswer) planned(key string) draw.Planned {
	seal := draw.Seal{SHA256: b.SHA256, Salt: b.Salt}
	return draw.Planned{First: b.Item, Count: b.Count, Version: b.Version, Seal: seal, Replayed: b.Replayed && key != ""}
}
