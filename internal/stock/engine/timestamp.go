package engine

import (
	"database/sql"
	"fmt"
	"time"
)

// TimeText is the form in which SQLite stores a time: UTC, to the microsecond, as text
// that sorts by time and that SQLite's date functions understand.
const TimeText = "2006-01-02T15:04:05.000000Z"

// Epoch returns t, or the beginning of 1970 for the zero time: no column contains an
// earlier time.
func Epoch(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC()
}

// timestamp scans a time from any form that one of the databases returns. One timestamp
// may serve many rows. It does not parse a text that equals the one before: awards of a
// batch have the same time.
type timestamp struct {
	to   *time.Time
	text string
}

// ScanTime returns a scanner that reads a time in the form of any of the databases.
func ScanTime(to *time.Time) sql.Scanner { return &timestamp{to: to} }

// Time returns the place to scan the time into, for drivers that support times.
func (t *timestamp) Time() *time.Time { return t.to }

// Scan implements sql.Scanner.
func (t *timestamp) Scan(value any) error {
	switch v := value.(type) {
	case time.Time:
		*t.to = v.UTC()
		return nil
	case nil: // a column that may be NULL contains no time
		*t.to, t.text = time.Time{}, ""
		return nil
	case string:
		if v == t.text && v != "" {
			return nil
		}
		at, err := time.Parse(TimeText, v)
		*t.to, t.text = at, v
		return err
	}
	return fmt.Errorf("stock: %T is not a time", value)
}
