// Package problem is the table of problems: the status and the title of each code, what
// GET /problems/{code} explains, and how an error becomes a problem document.
package problem
