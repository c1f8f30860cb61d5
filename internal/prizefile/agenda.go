package prizefile

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"drawsvc/internal/draw"
)

// AgendaHeader is the first line of a file of stock items. Its columns may be in any
// order and case.
const AgendaHeader = "at,prize,delta,reason"

// ReadAgenda reads and checks a file of stock items, as far as is possible without the
// pool. Error: CodeInvalidRequest, or that of the reader.
func ReadAgenda(file io.Reader) ([]draw.Item, error) {
	var f agendaFile
	if err := readRows(file, &f.bad, f.row); err != nil {
		return nil, err
	}
	if f.places == nil && f.bad.Err() == nil {
		f.bad.Add(1, "must be the header %s", AgendaHeader)
	}
	return f.items, f.bad.Err()
}

// agendaFile is a file that is being parsed into items.
type agendaFile struct {
	places []int // of the columns of AgendaHeader, nil until the header is read
	items  []draw.Item
	bad    BadLines
}

// row reads one row. It returns false if nothing after the row can be read.
func (f *agendaFile) row(number int, fields []string) (goOn bool) {
	switch {
	case f.places == nil:
		for _, name := range strings.Split(AgendaHeader, ",") {
			f.places = append(f.places, slices.IndexFunc(fields, func(s string) bool { return strings.EqualFold(s, name) }))
		}
		if slices.Contains(f.places, -1) || len(fields) != len(f.places) {
			f.bad.Add(number, "must be the header %s, in any order, separated by commas or semicolons", AgendaHeader)
			return false
		}
		return true
	case len(f.items)+len(f.bad.list) >= draw.AgendaMax:
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
	if len(fields) != len(f.places) {
		return item, fmt.Errorf("has %d columns instead of %d; quote a field that holds the separator", len(fields), len(f.places))
	}
	at, prize, delta, reason := fields[f.places[0]], fields[f.places[1]], fields[f.places[2]], fields[f.places[3]]
	item = draw.Item{Kind: draw.ItemStock, Line: number, Stock: draw.Stocking{PrizeID: prize, Reason: reason}}
	if item.At, err = draw.ParseTime("at", at); err != nil {
		return item, fmt.Errorf("%s, not %s", draw.DetailOf(err), clipped(at))
	}
	if item.Stock.Delta, err = strconv.ParseInt(delta, 10, 64); err != nil {
		return item, fmt.Errorf("delta must be a whole number, not %s", clipped(delta))
	}
	return item, item.Check()
}
