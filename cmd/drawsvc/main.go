// Command drawsvc is a prize-draw service whose draws cannot over-issue. Its commands are
// in internal/cli, and the service is in internal/serve.
package main

import (
	"drawsvc/db/migrations"
	"drawsvc/internal/cli"
)

// version and commit may be set by the linker.
var version, commit string

func main() { cli.Main(migrations.Embedded(), version, commit) }
