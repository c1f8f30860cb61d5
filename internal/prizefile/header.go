package prizefile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Header is the first line of a file. Its columns may be in any order and case; kind is
// optional.
const Header = "prize,name,value,stock[,kind]"

// columnNames returns the columns of a file. The last one is optional.
func columnNames() []string { return []string{"prize", "name", "value", "stock", "kind"} }

// headerMax is how much of a file is searched for its separator, in bytes.
const headerMax = 1024

// begin skips the byte order mark and finds the separator in the header. Error:
// CodeInvalidRequest for a file that is not UTF-8 text.
func begin(file *bufio.Reader) (separator rune, err error) {
	head, err := file.Peek(headerMax)
	if err != nil && err != io.EOF {
		return 0, err
	}
	var bad BadLines
	if bytes.HasPrefix(head, []byte("\xFF\xFE")) || bytes.HasPrefix(head, []byte("\xFE\xFF")) {
		bad.Add(1, "is UTF-16 text; save the file as CSV UTF-8")
		return 0, bad.Err()
	}
	const mark = "\uFEFF"
	if bytes.HasPrefix(head, []byte(mark)) {
		_, _ = file.Discard(len(mark)) // it is in the buffer
		head = head[len(mark):]
	}
	header, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	if bytes.ContainsRune(header, ';') && !bytes.ContainsRune(header, ',') {
		return ';', nil
	}
	return ',', nil
}

// columns are the columns of a file in the order of columnNames: the index of each, -1
// for one that is missing. The last number is how many there are.
type columns []int

// readHeader reads the names of the columns. Separators without a name at the end are
// not columns.
func readHeader(fields []string) (columns, error) {
	for len(fields) > 0 && fields[len(fields)-1] == "" {
		fields = fields[:len(fields)-1]
	}
	names := columnNames()
	found := slices.Repeat([]int{-1}, len(names)+1)
	found[len(names)] = len(fields)
	for i, field := range fields {
		place := slices.Index(names, strings.ToLower(field))
		switch {
		case place < 0:
			return nil, fmt.Errorf("must be the header %s, in any order, separated by commas or semicolons; it has the column %s", Header, clipped(field))
		case found[place] >= 0:
			return nil, fmt.Errorf("has the column %s twice", names[place])
		}
		found[place] = i
	}
	for i, name := range names[:len(names)-1] {
		if found[i] < 0 {
			return nil, fmt.Errorf("must be the header %s, in any order, separated by commas or semicolons; it lacks the column %s", Header, name)
		}
	}
	return found, nil
}

// count is the number of columns.
func (c columns) count() int { return c[len(c)-1] }

// of returns the field of a column, "" if the file does not have the column.
func (c columns) of(fields []string, name string) string {
	place := c[slices.Index(columnNames(), name)]
	if place < 0 {
		return ""
	}
	return fields[place]
}
