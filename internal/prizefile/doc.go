// Package prizefile reads prizes and their stock from a CSV file. A file with a
// bad line is rejected whole, with the first bad lines by their numbers.
package prizefile
