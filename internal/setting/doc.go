// Package setting holds the settings that commands and the service share: flags,
// environment variables, files of secrets and the database's URL. It also writes their
// error messages.
package setting
