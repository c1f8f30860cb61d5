package history

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones, on machines that have none
)

// ruleBook is what the judgement needs of a document of rules.
type ruleBook struct {
	Limits []limit
	Budget *struct{ Max, Per string }
	Zone   string
}

type limit struct {
	Of, Prize, Per string
	Max            int
}

// within counts the times that share a window with the last of them.
func within(times []time.Time, last time.Time, per string, zone *time.Location) (n int) {
	for _, at := range times {
		if isWithin(at, last, per, zone) {
			n++
		}
	}
	return n
}

// isWithin says whether a time lies in the window of a later one. It compares
// dates where the service looks for the first instant of one.
func isWithin(at, last time.Time, per string, zone *time.Location) bool {
	here, there := at.In(zone), last.In(zone)
	switch per {
	case "":
		return true
	case "hour":
		return here.Format("2006-01-02T15 -0700") == there.Format("2006-01-02T15 -0700")
	case "day":
		return here.Format(time.DateOnly) == there.Format(time.DateOnly)
	case "week":
		y, w := here.ISOWeek()
		year, week := there.ISOWeek()
		return y == year && w == week
	case "month":
		return here.Format("2006-01") == there.Format("2006-01")
	}
	rolling, err := time.ParseDuration(per)
	return err != nil || !at.Before(last.Add(-rolling))
}

// cents is a value with two decimals.
func cents(value string) int64 {
	n, _ := strconv.ParseInt(strings.Replace(value, ".", "", 1), 10, 64) // the contract's form; another is nothing
	return n
}
