package job

import (
	"errors"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

const (
	// ScheduleMax is the maximum length of a schedule, in bytes.
	ScheduleMax = 200
	// EveryMin is the minimum interval of a schedule.
	EveryMin = time.Second
	every    = "every "
	zone     = "CRON_TZ="
)

// Schedule is when a job is due.
type Schedule struct {
	cron cron.Schedule
	zone *time.Location
	// hourly means that the hours are a pattern such as "*", or that the schedule is an
	// interval. Such a schedule fires twice at a local time that a change of clocks repeats.
	hourly bool
}

// Parse reads a schedule: "every 6h", or the five fields of cron, such as "0 1,2,3 * *
// *". The fields are in UTC, or in a time zone if they follow "CRON_TZ=Europe/Berlin". If
// a change of clocks skips a firing's time, it fires within the hour after that. A
// repeated time fires once, unless the hours are a pattern such as "*". Error:
// CodeInvalidRequest.
func Parse(text string) (Schedule, error) {
	if len(text) > ScheduleMax {
		return Schedule{}, draw.Errorf(draw.CodeInvalidRequest, "schedule must have at most %d characters", ScheduleMax)
	}
	if rest, ok := strings.CutPrefix(text, every); ok {
		interval, err := time.ParseDuration(rest)
		if err != nil || interval < EveryMin {
			return Schedule{}, draw.Errorf(draw.CodeInvalidRequest, "schedule %q must name an interval of at least %s, as in \"every 6h\"", text, EveryMin)
		}
		return Schedule{cron: cron.Every(interval), zone: time.UTC, hourly: true}, nil
	}
	s := Schedule{zone: time.UTC}
	fields := text
	if rest, ok := strings.CutPrefix(text, zone); ok {
		name, after, _ := strings.Cut(rest, " ")
		var err error
		if s.zone, err = rules.ParseZone(name); err != nil {
			return Schedule{}, draw.Errorf(draw.CodeInvalidRequest, "schedule %q names no time zone that is known, such as Europe/Berlin", text)
		}
		fields = after
	}
	var err error
	five := strings.Fields(fields)
	if len(five) != 5 || strings.ContainsAny(fields, "@=") {
		err = errors.New("it does not have five fields")
	} else {
		s.hourly = strings.Contains(five[1], "*")
		s.cron, err = cron.ParseStandard(fields)
	}
	if err != nil {
		return Schedule{}, draw.Wrap(draw.CodeInvalidRequest, err,
			"schedule must be \"every 6h\" or five cron fields, such as \"CRON_TZ=Europe/Berlin 0 1,2,3 * * *\"")
	}
	if s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, draw.Errorf(draw.CodeInvalidRequest, "schedule %q never fires", text)
	}
	return s, nil
}

// Next returns the first firing after t, in UTC, or zero if there is none within five
// years.
func (s Schedule) Next(t time.Time) time.Time {
	next := s.nextOnWall(t)
	if !s.hourly {
		return next
	}
	if again := s.cron.Next(t.In(s.zone)); !again.IsZero() && again.Before(next) {
		return again.UTC()
	}
	return next
}

// nextOnWall returns the first firing after t by local time. It computes as if local
// times were UTC, which has no skipped or repeated times. So each local firing is one
// instant.
func (s Schedule) nextOnWall(t time.Time) time.Time {
	for wall := asUTC(t.In(s.zone)); ; {
		if wall = s.cron.Next(wall); wall.IsZero() {
			return wall
		}
		if next := firstOn(wall, s.zone); next.After(t) {
			return next
		}
	}
}

// asUTC returns the time at which a clock in UTC shows what a clock in t's zone shows at
// t.
func asUTC(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// firstOn returns the first instant at which a clock in the zone shows the same time as a
// UTC clock at wall. If a change of clocks skips that time, it returns the instant at
// which the clock would have shown it without the change.
func firstOn(wall time.Time, zone *time.Location) time.Time {
	offset := func(t time.Time) time.Duration {
		_, seconds := t.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	// No zone differs from UTC by more than a day, or changes its offset twice within two
	// days.
	before, after := wall.Add(-offset(wall.AddDate(0, 0, -1))), wall.Add(-offset(wall.AddDate(0, 0, 1)))
	if asUTC(before.In(zone)).Equal(wall) || !asUTC(after.In(zone)).Equal(wall) {
		return before
	}
	return after
}

// Midnight returns the beginning of a local day in a zone. It is later than midnight if a
// change of clocks skips midnight. A day outside its month is normalized as in
// [time.Date].
func Midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	return firstOn(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), zone).In(zone)
}

// Day returns the local day of t, as 2006-01-02.
func (s Schedule) Day(t time.Time) string { return t.In(s.zone).Format(time.DateOnly) }

// Zone returns the schedule's time zone.
func (s Schedule) Zone() *time.Location { return s.zone }

// nextDay returns the first firing after t that is on a later local day than t.
func (s Schedule) nextDay(t time.Time) time.Time {
	next := s.Next(t)
	for s.Day(next) == s.Day(t) && !next.IsZero() { // cron fires at most once a minute; an interval of a second needs 86,400 steps
		next = s.Next(next)
	}
	return next
}
