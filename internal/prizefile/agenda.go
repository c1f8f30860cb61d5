package prizefile

import (
	"fmt"
	"io"
	"strconv"

	"drawsvc/internal/draw"
)

// AgendaHeader is the first line of a file of stock items. The columns may be in any
// order and case, and their names may be in one of several languages. An additional
// column, MomentColumn, marks moments.
const (
	AgendaHeader = "at,prize,delta,reason"
	MomentColumn = "moment"
)

// agendaColumns returns the columns of a file of stock items. The last one is optional.
func agendaColumns() []column {
	return []column{
		{"at", []string{"zeit", "zeitpunkt", "date", "fecha"}},
		{"prize", prizeColumns()[0].aliases},
		{"delta", []string{"anzahl", "menge", "stück", "quantité", "cantidad"}},
		{"reason", []string{"grund", "motif", "motivo"}},
		{MomentColumn, nil},
	}
}

// ReadAgenda reads a file of stock items and moments, and checks it as far as that is
// possible without the pool. Error: CodeInvalidRequest, or that of the reader.
func ReadAgenda(file io.Reader) ([]draw.Item, draw.Encoding, error) {
	f := agendaFile{table: table{header: AgendaHeader + "[," + MomentColumn + "]", known: agendaColumns(), optional: 1}}
	if err := f.read(file, f.row); err != nil {
		return nil, "", err
	}
	return f.items, f.text.encoding, f.bad.Err()
}

// agendaFile is a file that is being parsed into items.
type agendaFile struct {
	table
	items []draw.Item
}

// row reads one row. It returns false if no further row is to be read.
func (f *agendaFile) row(number int, fields []string) (goOn bool) {
	if len(f.items)+len(f.bad.list) >= draw.AgendaMax {
		f.bad.Add(number, "is more than the %d items that a file may have", draw.AgendaMax)
		return false
	}
	item, err := f.item(number, fields)
	if err != nil {
		f.bad.Add(number, "%s", draw.DetailOf(err))
		return true
	}
	f.items = append(f.items, item)
	return true
}

func (f *agendaFile) item(number int, fields []string) (item draw.Item, err error) {
	if err := f.columns.check(fields); err != nil {
		return item, err
	}
	of := func(name string) string { return f.of(fields, name) }
	at, prize, delta, reason := of("at"), of("prize"), of("delta"), of("reason")
	item = draw.Item{Kind: draw.ItemStock, Line: number, Stock: draw.Stocking{PrizeID: prize, Reason: reason}}
	if item.At, err = draw.ParseTime("at", at); err != nil {
		return item, fmt.Errorf("%s, not %s", draw.DetailOf(err), clipped(at))
	}
	switch isMoment := of(MomentColumn); isMoment {
	case "", "false":
	case "true":
		return momentAt(item, delta, reason)
	default:
		return item, fmt.Errorf("%s must be true or empty, not %s", MomentColumn, clipped(isMoment))
	}
	if item.Stock.Delta, err = strconv.ParseInt(delta, 10, 64); err != nil {
		return item, fmt.Errorf("delta must be a whole number, not %s", clipped(delta))
	}
	return item, item.Check()
}

// momentAt makes an item a moment. A moment is one unit, and its file gives no other
// reason.
func momentAt(item draw.Item, delta, reason string) (draw.Item, error) {
	if delta != "" && delta != "1" {
		return item, fmt.Errorf("the delta of a moment is 1 or empty, not %s", clipped(delta))
	}
	if reason != "" && reason != draw.MomentReason {
		return item, fmt.Errorf("the reason of a moment is empty, not %s", clipped(reason))
	}
	item.Kind, item.Stock = draw.ItemMoment, draw.MomentOf(item.Stock.PrizeID)
	return item, item.Check()
}
