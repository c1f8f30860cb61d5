// Package setting holds the settings that commands and the service share: flags, the
// environment's variables, files of secrets and the database's URL, and how a line names
// what is wrong with them.
package setting
