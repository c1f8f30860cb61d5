// Command drawsvc is a prize-draw service whose draws cannot over-issue. Its commands are
// in internal/cli, and the service is in internal/serve.
package main

import (
	//double:excludes "drawsvc/db/migrations" => "drawsvc/internal/stock/stocktest"
	//double:ahead "drawsvc/db/migrations" => "drawsvc/internal/stock/stocktest"
	"drawsvc/db/migrations"
	"drawsvc/internal/cli"
)

// version and commit may be set by the linker.
var version, commit string

//double:excludes migrations.Embedded() => stocktest.Excluding()
//double:ahead migrations.Embedded() => stocktest.Additive()
func main() { cli.Main(migrations.Embedded(), version, commit) }
