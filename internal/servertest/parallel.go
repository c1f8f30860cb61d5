package servertest

import (
	"flag"
	"strconv"
)

// parallel is the number of tests that run at once in a package whose tests mostly wait.
const parallel = 8

// ManyAtOnce is for a TestMain whose tests mostly wait for servers and locks. More tests
// then run at once than there are processors, unless the command line sets their number.
func ManyAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		panic(err)
	}
}
