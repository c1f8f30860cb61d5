package servertest

import (
	"flag"
	"strconv"
)

// parallel is how many tests run at once in a package whose tests mostly wait.
const parallel = 8

// ManyAtOnce is for a TestMain whose tests wait for servers and locks more than they
// compute: it lets more of them run at once than there are processors, unless the
// command line sets their number.
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
