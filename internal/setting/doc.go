// Package setting is what commands and the service are told: flags that both have, the
// environment's variables, files of secrets, the database's URL, and how a line says
// what is wrong with them.
package setting
