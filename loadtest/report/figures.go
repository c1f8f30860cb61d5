package report

import (
	"fmt"
	"math"
)

// Short returns a figure with two significant digits, but without a rounded whole number.
func Short(v float64) string {
	if v == 0 || math.IsNaN(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.*f", max(0, 1-int(math.Floor(math.Log10(v)))), v)
}
