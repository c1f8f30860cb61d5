package http

import (
	"cmp"
	"context"
	"io"
	nethttp "net/http"
	"net/url"
	"strconv"
	"time"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

var (
	_ Stocker  = (*Admin)(nil)
	_ Importer = (*Admin)(nil)
)

// AddPrize implements Stocker.
func (a *Admin) AddPrize(ctx context.Context, poolID string, p draw.Prize, _ string) (draw.Prize, error) {
	body := newPrizeBody(&p)
	made, err := send[adminPrizeAnswer](ctx, a, client.Call{Method: nethttp.MethodPost, Path: poolPath(poolID, "prizes")}, &body)
	if err != nil {
		return draw.Prize{}, err
	}
	return made.prize()
}

// ChangePrize implements Stocker.
func (a *Admin) ChangePrize(ctx context.Context, poolID, prizeID string, change draw.PrizeChange, _ string) (draw.Prize, error) {
	body := correctionBody{Name: change.Name}
	if change.Value != nil {
		value := change.Value.StringFixed(2)
		body.Value = &value
	}
	changed, err := send[adminPrizeAnswer](ctx, a, client.Call{Method: nethttp.MethodPatch, Path: poolPath(poolID, "prizes", prizeID)}, &body)
	if err != nil {
		return draw.Prize{}, err
	}
	return changed.prize()
}

// Stock implements Stocker. A move without a key is given one, so that a lost
// answer can be asked for again.
func (a *Admin) Stock(ctx context.Context, s draw.Stocking, _ string) (draw.Move, error) {
	c := client.Call{Method: nethttp.MethodPost, Path: poolPath(s.PoolID, "prizes", s.PrizeID, "stock"), Key: cmp.Or(s.Key, client.NewKey())}
	m, err := send[stockAnswer](ctx, a, c, &stockBody{Delta: s.Delta, Reason: s.Reason})
	if err != nil {
		return draw.Move{}, err
	}
	at, err := readTime(m.At)
	return draw.Move{
		Version: m.Version, PoolID: m.Pool, PrizeID: m.Prize, Delta: m.Delta, Reason: m.Reason, Actor: m.Actor, Key: s.Key, At: at,
		Stocked: m.Stocked, Issued: m.Issued, Replayed: m.Replayed && s.Key != "",
	}, err
}

// importAttemptMax bounds the request of an import: longer than the service's
// own limits of its parts.
const importAttemptMax = 3 * time.Minute

// readImportFile reads a file that the service takes. Error: codeBodyTooLarge.
func readImportFile(file io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, importMax+1))
	if err == nil && len(text) > importMax {
		err = draw.Errorf(codeBodyTooLarge, "the file is larger than %d bytes; import it on the database", importMax)
	}
	return text, err
}

// Import implements Importer. The file is held in memory; the service takes 8 MiB.
// An import without a key is given one, so that a lost answer can be asked for
// again.
func (a *Admin) Import(ctx context.Context, w draw.Import, file io.Reader, _ func(done, total int)) (draw.Imported, error) {
	text, err := readImportFile(file)
	if err != nil {
		return draw.Imported{}, err
	}
	query := url.Values{"reason": {w.Reason}}
	key := w.Key
	if w.DryRun {
		query.Set("dry_run", strconv.FormatBool(w.DryRun))
	} else {
		key = cmp.Or(key, client.NewKey())
	}
	done, err := fetch[importAnswer](ctx, a, client.Call{
		Method: nethttp.MethodPost, Path: poolPath(w.PoolID, "import") + "?" + query.Encode(), Key: key,
		ContentType: typeCSV, Body: text, AttemptMax: importAttemptMax,
	})
	if err != nil {
		return draw.Imported{}, err
	}
	return draw.Imported{
		Added: done.Added, Restocked: done.Restocked, Units: done.Units, Version: done.Version, Replayed: done.Replayed && w.Key != "",
		Preview: each(done.Prizes, func(p *importPrizeAnswer) draw.ImportedPrize {
			return draw.ImportedPrize{PrizeID: p.ID, IsNew: p.New, IsEndless: p.Stocked == nil, Delta: orEndless(p.Delta), Stocked: orEndless(p.Stocked)}
		}),
	}, nil
}
