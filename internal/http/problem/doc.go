// Package problem is the table of problems: the status and the title of each code, its
// explanation by GET /problems/{code}, and how an error becomes a problem document.
package problem
