package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// Prize is a prize as the operator sees it.
type Prize struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Value string    `json:"value"`
	Kind  draw.Kind `json:"kind"`
	// Stocked and Remaining are null for an endless blank.
	Stocked   *int64 `json:"stocked"`
	Issued    int64  `json:"issued"`
	Remaining *int64 `json:"remaining"`
	// Given is the total value of the issued units.
	Given string `json:"given"`
	// Codes, Places and Reserve are set only for a prize with codes.
	Codes   bool   `json:"codes,omitzero"`
	Places  *int64 `json:"places,omitzero"`
	Reserve *int64 `json:"reserve,omitzero"`
	// Display contains the display texts. It is left out if there are none.
	Display *Display `json:"display,omitzero"`
}

// Display contains the display texts of a prize. Texts that are not set are left out.
type Display struct {
	Name    string `json:"name,omitzero"`
	Text    string `json:"text,omitzero"`
	Picture string `json:"picture,omitzero"`
	Link    string `json:"link,omitzero"`
}

// Prizes are the prizes of a pool, in the order in which they were added.
type Prizes struct {
	Prizes []Prize `json:"prizes"`
}

// ShowPrize converts a prize to its response type.
func ShowPrize(p *draw.Prize) Prize {
	shown := Prize{
		ID: p.ID, Name: p.Name, Value: p.Value.StringFixed(2), Kind: KindOf(p), Issued: p.Issued, Given: p.Given().StringFixed(2),
		Stocked: unlessEndless(p.Stocked, p.IsEndless()), Remaining: unlessEndless(p.Remaining(), p.IsEndless()),
	}
	if p.HasCodes {
		shown.Codes, shown.Places, shown.Reserve = true, &p.Places, new(p.Reserve())
	}
	if p.Display != nil {
		shown.Display = new(Display(*p.Display))
	}
	return shown
}

// KindOf returns the kind of a prize in the form of responses.
func KindOf(p *draw.Prize) draw.Kind {
	if p.IsWin() {
		return draw.KindPrize
	}
	return draw.KindBlank
}

// Read converts the prize to the domain.
func (p *Prize) Read() (draw.Prize, error) {
	read := draw.Prize{ID: p.ID, Name: p.Name, Kind: p.Kind, Stocked: draw.EndlessStock, Issued: p.Issued, HasCodes: p.Codes}
	if p.Places != nil {
		read.Places = *p.Places
	}
	if p.Display != nil {
		read.Display = new(draw.Display(*p.Display))
	}
	if p.Stocked != nil {
		read.Stocked = *p.Stocked
	}
	var err error
	if read.Value, err = draw.ParseValue(p.Value); err != nil {
		return read, notOurs(err)
	}
	return read, nil
}

// ReadPrizes returns the pool's prizes.
func (p *Pool) ReadPrizes() ([]draw.Prize, error) { return readEach(p.Prizes, (*Prize).Read) }

// NewPrize is one prize of a new pool, and the body of POST …/prizes.
type NewPrize struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Value *string `json:"value"`
	Kind  *string `json:"kind"`
	// Stock may be omitted for a blank, which is then endless.
	Stock *int64 `json:"stock,omitzero"`
	// Codes means that the prize has codes; it then begins without stock.
	Codes bool `json:"codes,omitzero"`
}

// Read returns the prize that the body describes. Error: CodeInvalidRequest.
func (b *NewPrize) Read() (draw.Prize, error) {
	p := draw.Prize{ID: b.ID, Name: b.Name, Kind: draw.KindPrize, HasCodes: b.Codes}
	if b.Kind != nil {
		if p.Kind = draw.Kind(*b.Kind); p.Kind == "" {
			return p, draw.Errorf(draw.CodeInvalidRequest, "kind of prize %q is empty", b.ID)
		}
	}
	switch {
	case b.Stock != nil:
		if err := p.CheckFinite(*b.Stock); err != nil {
			return p, err
		}
		p.Stocked = *b.Stock
	case p.Kind == draw.KindBlank:
		p.Stocked = draw.EndlessStock
	}
	if b.Value != nil {
		if *b.Value == "" {
			return p, draw.Errorf(draw.CodeInvalidRequest, "value of prize %q is empty", b.ID)
		}
		value, err := draw.ParseValue(*b.Value)
		if err != nil {
			return p, err
		}
		p.Value = value
	}
	return p, p.Check()
}

// PrizeChange is the body of PATCH …/prizes/{prize}.
type PrizeChange struct {
	Name    *string        `json:"name,omitzero"`
	Value   *string        `json:"value,omitzero"`
	Display *DisplayChange `json:"display,omitzero"`
}

// DisplayChange changes the display texts of a prize. A member that is null or empty
// removes its text. A text whose member is absent does not change.
type DisplayChange struct {
	Name    jsontext.Value `json:"name,omitzero"`
	Text    jsontext.Value `json:"text,omitzero"`
	Picture jsontext.Value `json:"picture,omitzero"`
	Link    jsontext.Value `json:"link,omitzero"`
}

func (b *DisplayChange) read() (*draw.DisplayChange, error) {
	change := &draw.DisplayChange{}
	for _, part := range []struct {
		name string
		raw  jsontext.Value
		to   **string
	}{{"name", b.Name, &change.Name}, {"text", b.Text, &change.Text}, {"picture", b.Picture, &change.Picture}, {"link", b.Link, &change.Link}} {
		var err error
		if *part.to, err = readTextOrNull("display."+part.name, part.raw); err != nil {
			return nil, err
		}
	}
	return change, nil
}

// Read returns the change that the body describes. Error: CodeInvalidRequest.
func (b *PrizeChange) Read() (draw.PrizeChange, error) {
	change := draw.PrizeChange{Name: b.Name}
	if b.Value != nil {
		if *b.Value == "" {
			return change, draw.Errorf(draw.CodeInvalidRequest, "value is empty")
		}
		value, err := draw.ParseValue(*b.Value)
		if err != nil {
			return change, err
		}
		change.Value = &value
	}
	if b.Display != nil {
		var err error
		if change.Display, err = b.Display.read(); err != nil {
			return change, err
		}
	}
	return change, change.Check()
}

// Stocking is the body of POST …/stock.
type Stocking struct {
	Delta  int64  `json:"delta"`
	Reason string `json:"reason"`
}

// Stocked is the result of a move of stock.
type Stocked struct {
	Pool      string `json:"pool"`
	Prize     string `json:"prize"`
	Delta     int64  `json:"delta"`
	Reason    string `json:"reason"`
	Actor     string `json:"actor"`
	Version   int64  `json:"version"`
	At        string `json:"at"`
	Stocked   int64  `json:"stocked"`
	Issued    int64  `json:"issued"`
	Remaining int64  `json:"remaining"`
	Replayed  bool   `json:"replayed"`
}

// ShowStocked returns a move in the form of the response to it.
func ShowStocked(m *draw.Move) Stocked {
	return Stocked{
		Pool: m.PoolID, Prize: m.PrizeID, Delta: m.Delta, Reason: m.Reason, Actor: m.Actor, Version: m.Version,
		At: ShowTime(m.At), Stocked: m.Stocked, Issued: m.Issued, Remaining: m.Stocked - m.Issued, Replayed: m.Replayed,
	}
}

// Imported is the result of an import, or the expected result of its dry run.
type Imported struct {
	Pool      string `json:"pool"`
	DryRun    bool   `json:"dry_run"`
	Added     int    `json:"added"`
	Restocked int    `json:"restocked"`
	Units     int64  `json:"units"`
	// Version is the version of the pool after the import. For a dry run it is the expected
	// version.
	Version  int64 `json:"version"`
	Replayed bool  `json:"replayed"`
	// Encoding is the file's encoding. If it is windows-1252, it was guessed.
	Encoding draw.Encoding `json:"encoding"`
	// Value is the value of the added units. StockValue is the value of all units that would
	// then remain in the pool. Both are set only for a dry run.
	Value      *string `json:"value,omitzero"`
	StockValue *string `json:"stock_value,omitzero"`
	// Prizes are the first prizes that the import would change. They are set only for a dry
	// run.
	Prizes []ImportedPrize `json:"prizes,omitempty"`
}

// ImportedPrize is a prize that the import of a dry run would change.
type ImportedPrize struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	New     bool   `json:"new"`
	Delta   *int64 `json:"delta"` // null: endless
	Stocked *int64 `json:"stocked"`
}

// ShowImported converts the result of an import to its response type.
func ShowImported(w *draw.Import, done *draw.Imported) Imported {
	shown := Imported{
		Pool: w.PoolID, DryRun: w.DryRun, Added: done.Added, Restocked: done.Restocked, Units: done.Units, Version: done.Version, Replayed: done.Replayed,
		Encoding: done.Encoding,
		Prizes: ShowEach(done.Preview, func(p *draw.ImportedPrize) ImportedPrize {
			return ImportedPrize{p.PrizeID, p.Name, p.Value.StringFixed(2), p.IsNew, unlessEndless(p.Delta, p.IsEndless), unlessEndless(p.Stocked, p.IsEndless)}
		}),
	}
	if w.DryRun && !done.Replayed {
		shown.Value, shown.StockValue = new(done.Value.StringFixed(2)), new(done.StockValue.StringFixed(2))
	}
	return shown
}

// AddPrize adds a prize to a pool. Errors: CodePoolNotFound, CodePrizeExists.
func (c *Client) AddPrize(ctx context.Context, poolID string, p *NewPrize) (Prize, error) {
	return send[Prize](ctx, c, newCall(http.MethodPost, poolPath(poolID, "prizes")), p)
}

// Prizes returns the prizes of a pool. Error: CodePoolNotFound.
func (c *Client) Prizes(ctx context.Context, poolID string) ([]Prize, error) {
	found, err := seeList[Prizes](ctx, c, poolPath(poolID, "prizes"))
	return found.Prizes, err
}

// ChangePrize corrects a prize that has issued nothing, or changes its display texts.
// Errors: CodePoolNotFound, CodePrizeNotFound, CodeAlreadyIssued.
func (c *Client) ChangePrize(ctx context.Context, poolID, prizeID string, change *PrizeChange) (Prize, error) {
	return send[Prize](ctx, c, newCall(http.MethodPatch, poolPath(poolID, "prizes", prizeID)), change)
}

// Stock moves stock. Calls with the same key move it once. Without a key, a retry is not
// reported as a replay. Errors: CodePoolNotFound, CodePrizeNotFound,
// CodeStockBelowIssued, CodeKeyReused.
func (c *Client) Stock(ctx context.Context, poolID, prizeID, key string, s Stocking) (Stocked, error) {
	call := newCall(http.MethodPost, poolPath(poolID, "prizes", prizeID, "stock"))
	call.Key, call.IsNamed = key, true
	m, err := send[Stocked](ctx, c, call, &s)
	m.Replayed = m.Replayed && key != ""
	return m, err
}

// importAttemptMax bounds the request of an import. It exceeds the service's own limits
// for the parts of an import.
const importAttemptMax = 3 * time.Minute

// newImport returns a call that sends a file.
func newImport(path, key string, file io.Reader) Call {
	call := newCall(http.MethodPost, path)
	call.Key, call.ContentType, call.From, call.AttemptMax = key, typeCSV, file, importAttemptMax
	return call
}

// Import stocks a pool from a file. Calls with the same key import it once. Without a
// key, a retry is not reported as a replay. It ignores the actor of w. Errors:
// CodeInvalidRequest, CodePoolNotFound, CodeKeyReused, CodeBodyTooLarge, CodeOverloaded.
func (c *Client) Import(ctx context.Context, w *draw.Import, file io.Reader) (Imported, error) {
	query := url.Values{"reason": {w.Reason}}
	if w.DryRun {
		query.Set("dry_run", "true")
	}
	call := newImport(poolPath(w.PoolID, "import")+"?"+query.Encode(), w.Key, file)
	call.IsNamed = !w.DryRun
	done, err := fetch[Imported](ctx, c, call)
	done.Replayed = done.Replayed && w.Key != ""
	return done, err
}
