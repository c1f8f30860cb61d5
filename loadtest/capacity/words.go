package main

import (
	"fmt"
	"math"
)

func short(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

func thousands(n float64) string {
	if n = two(n); n < 1000 || math.IsNaN(n) {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.0f,%03.0f", math.Floor(n/1000), math.Mod(n, 1000))
}

func two(n float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(n))-1)
	return math.Round(n/unit) * unit
}

func five(n float64) float64 { return math.Round(n/5) * 5 }
