// Package adminpage has the calls of the admin page, to measure them on large services.
package adminpage
