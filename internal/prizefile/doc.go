// Package prizefile reads prizes and their stock from a CSV file, as
// spreadsheets write it: commas or semicolons, columns in any order, with or
// without a byte order mark. A file with a bad line is rejected whole, with the
// first bad lines by their numbers.
package prizefile
