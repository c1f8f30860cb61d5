// Package prizefile reads prizes and their stock from a CSV file, as spreadsheets write
// it: commas or semicolons, columns in any order, with or without a byte order mark. If
// a line is wrong, the whole file is refused, and the error names the first wrong
// lines.
package prizefile
