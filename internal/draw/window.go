package draw

import "time"

// Per is the length of the windows of a limit or a budget. The zero Per means ever: one
// window without a start.
type Per struct {
	calendar calendar
	rolling  time.Duration
	text     string // as in the document
}

// calendar names the windows that follow the calendar of a zone.
type calendar string

const (
	perHour  calendar = "hour"
	perDay   calendar = "day"
	perWeek  calendar = "week"
	perMonth calendar = "month"
)

// The minimum and the maximum length of a rolling window.
const (
	rollingMin = time.Second
	rollingMax = 8760 * time.Hour
)

// ParsePer reads hour, day, week, month, or a duration such as 168h; member is its place
// in a rules document, for the error. Error: CodeInvalidRequest.
func ParsePer(member, s string) (Per, error) {
	switch c := calendar(s); c {
	case perHour, perDay, perWeek, perMonth:
		return Per{calendar: c, text: s}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < rollingMin || d > rollingMax || d%time.Microsecond != 0 {
		return Per{}, ErrorOfMember(member, "must be hour, day, week, month, or a duration from 1s to 8760h%s",
			OrNearest(s, []string{string(perHour), string(perDay), string(perWeek), string(perMonth)}))
	}
	return Per{rolling: d, text: s}, nil
}

// String returns the text of the document, such as day or 168h, "" for ever.
func (p Per) String() string { return p.text }

// Same reports whether both are the same length of time, however they are written.
func (p Per) Same(other Per) bool { return p.calendar == other.calendar && p.rolling == other.rolling }

// Rolling returns the length of a rolling window, 0 for all others.
func (p Per) Rolling() time.Duration { return p.rolling }

// IsEver reports whether there is one window without a start.
func (p Per) IsEver() bool { return p == Per{} }

// Start returns the first instant of the window that contains the time at. Everything
// from that instant to at is in the window. For the zero Per, Start returns the zero
// time. A day, a week or a month starts at the first instant of its first local date. An
// hour is a local hour at one offset, so an hour that the clocks repeat is two windows. A
// rolling window starts its length before at.
func (p Per) Start(at time.Time, zone *time.Location) time.Time {
	if p.rolling > 0 {
		return at.Add(-p.rolling)
	}
	year, month, day := at.In(zone).Date()
	switch p.calendar {
	case perHour:
		return hourStart(at, zone)
	case perDay:
		return dateStart(year, month, day, zone)
	case perWeek:
		return dateStart(year, month, day-sinceMonday(at.In(zone)), zone)
	case perMonth:
		return dateStart(year, month, 1, zone)
	}
	return time.Time{}
}

// Next returns the start of the window after the one that contains the time at. Only
// windows of the calendar have a next window. For others, Next returns the zero time.
func (p Per) Next(at time.Time, zone *time.Location) time.Time {
	year, month, day := at.In(zone).Date()
	switch p.calendar {
	case perHour:
		return hourEnd(at, zone)
	case perDay:
		return dateStart(year, month, day+1, zone)
	case perWeek:
		return dateStart(year, month, day-sinceMonday(at.In(zone))+7, zone)
	case perMonth:
		return dateStart(year, month+1, 1, zone)
	}
	return time.Time{}
}

func sinceMonday(local time.Time) int { return (int(local.Weekday()) + 6) % 7 }

// dateStart returns the first instant whose local date is the given one or a later one. A
// date begins after midnight if clocks skip midnight, and twice if clocks are set back
// over it. In both cases, time.Date does not guarantee the first instant.
func dateStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	// No offset is more than 16 hours: at this time no clock shows the date yet.
	for t := midnight.Add(-24 * time.Hour); ; {
		local := t.In(zone)
		_, offset := local.Zone()
		from, to := zoneBounds(local)
		begin := midnight.Add(-time.Duration(offset) * time.Second)
		if begin.Before(from) {
			begin = from
		}
		if to.IsZero() || begin.Before(to) {
			return begin.UTC()
		}
		t = to
	}
}

// hourStart returns the first instant of the local hour that contains the time at. It
// assumes the offset from UTC at that time.
func hourStart(at time.Time, zone *time.Location) time.Time {
	local := at.In(zone)
	_, offset := local.Zone()
	begin := hourOf(local)
	for t := local; ; {
		from, _ := zoneBounds(t)
		if !from.After(begin) {
			return begin.UTC()
		}
		t = from.Add(-1)
		if _, before := t.Zone(); before != offset {
			return from.UTC()
		}
	}
}

// hourEnd returns the first instant after the local hour that contains the time at. It
// assumes the offset from UTC at that time.
func hourEnd(at time.Time, zone *time.Location) time.Time {
	local := at.In(zone)
	_, offset := local.Zone()
	end := hourOf(local).Add(time.Hour)
	for t := local; ; {
		_, to := zoneBounds(t)
		if to.IsZero() || !to.Before(end) {
			return end.UTC()
		}
		if _, after := to.Zone(); after != offset {
			return to.UTC()
		}
		t = to
	}
}

// hourOf returns the time at which the local clock would have shown the full hour if
// its offset had not changed.
func hourOf(local time.Time) time.Time {
	past := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	return local.Add(-past - time.Duration(local.Nanosecond()))
}

// zoneBounds is t.ZoneBounds with an end that is always after t. For years after a zone's
// last listed change, time.Time.ZoneBounds counts 365 days each, so on the last day of a
// leap year it returns an end before t. No zone's rule changes the clocks on that day.
func zoneBounds(t time.Time) (from, to time.Time) {
	from, to = t.ZoneBounds()
	if !to.IsZero() && !to.After(t) {
		to = t.Add(time.Hour)
	}
	return from, to
}
