package report

import (
	"fmt"
	"math"
)

// Short formats a figure with two significant digits, but never rounds the digits before
// the point: 123.4 becomes 123.
func Short(v float64) string {
	if v == 0 || math.IsNaN(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.*f", max(0, 1-int(math.Floor(math.Log10(v)))), v)
}
