// Package prizefile reads prizes and their stock from a CSV file as spreadsheets write
// it. Separators are commas or semicolons, columns have any order, and a byte order mark
// is optional. If a line is wrong, the whole file is refused, and the error names the
// first wrong lines.
package prizefile
