package prizefile

import (
	"fmt"
	"slices"
	"strings"
)

// Header is the first line of a file. The columns may be in any order and case, and their
// names may be in one of several languages; kind is optional.
const Header = "prize,name,value,stock[,kind]"

const separators = "in any order, separated by commas, semicolons or tabs"

// column is a column of a file: its name, and its names in German, French and Spanish
// spreadsheets. A word with two meanings, such as "Preis" (a prize and its price), does
// not name a column.
type column struct {
	name    string
	aliases []string
}

// is reports whether the column has a name, in any case.
func (c column) is(name string) bool {
	name = strings.ToLower(name)
	return name == c.name || slices.Contains(c.aliases, name)
}

// prizeColumns returns the columns of a file of prizes. The last one is optional.
func prizeColumns() []column {
	return []column{
		{"prize", []string{"id", "gewinn", "kennung", "lot", "identifiant", "premio", "identificador"}},
		{"name", []string{"bezeichnung", "nom", "libellé", "nombre"}},
		{"value", []string{"wert", "valeur", "valor"}},
		{"stock", []string{"bestand", "anzahl", "stück", "menge", "quantité", "cantidad", "existencias"}},
		{"kind", []string{"art", "type", "genre", "tipo"}},
	}
}

// columns are the positions of the columns of a file by their names, and their number.
type columns struct {
	places map[string]int
	count  int
}

// readHeader reads the names of the columns. All must be present, except for optional
// ones at the end of known. Separators without a name at the end of the header are not
// columns.
func readHeader(header string, known []column, optional int, fields []string) (*columns, error) {
	for len(fields) > 0 && fields[len(fields)-1] == "" {
		fields = fields[:len(fields)-1]
	}
	found := &columns{map[string]int{}, len(fields)}
	for i, field := range fields {
		place := slices.IndexFunc(known, func(c column) bool { return c.is(field) })
		if place < 0 {
			return nil, fmt.Errorf("must be the header %s, %s; it has the column %s", header, separators, clipped(field))
		}
		name := known[place].name
		if first, twice := found.places[name]; twice {
			return nil, fmt.Errorf("has the column %s twice: %s and %s", name, clipped(fields[first]), clipped(field))
		}
		found.places[name] = i
	}
	for _, c := range known[:len(known)-optional] {
		if _, isThere := found.places[c.name]; !isThere {
			return nil, fmt.Errorf("must be the header %s, %s; it lacks the column %s", header, separators, c.name)
		}
	}
	return found, nil
}

// check returns an error unless a row has as many fields as the header. Further fields
// must be empty.
func (c *columns) check(fields []string) error {
	if len(fields) < c.count || !isBlank(fields[c.count:]) {
		return fmt.Errorf("has %d columns instead of %d; quote a field that holds the separator", len(fields), c.count)
	}
	return nil
}

// of returns the field of a column, "" if the file does not have the column.
func (c *columns) of(fields []string, name string) string {
	place, isThere := c.places[name]
	if !isThere || place >= len(fields) {
		return ""
	}
	return fields[place]
}
