package report

import (
	"fmt"
	"math"
	"strings"
)

// Picture is an SVG. It has its own background, because a page may be dark while the
// reader's system is light, and its colours follow the reader's mode.
type Picture struct {
	strings.Builder
	Width, Height float64
}

// Paint is the style of a class; %s in it is its one colour, which differs between a
// light page and a dark one.
type Paint struct{ Class, Style, Light, Dark string }

// NewPicture begins a picture.
func NewPicture(width, height float64, label string, paints ...Paint) *Picture {
	paints = append([]Paint{
		{".page", "fill: %s", "#ffffff", "#0d1117"}, {"text", "fill: %s; font: 13px system-ui, sans-serif", "#1f2328", "#f0f6fc"},
		{".grid", "stroke: %s", "#d1d9e0", "#3d444d"},
	}, paints...)
	p := &Picture{Width: width, Height: height}
	p.Add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">`+"\n<style>\n", width, height, label)
	p.Add(".title { font-weight: 600; font-size: 15px }\n")
	for _, c := range paints {
		p.Add("%s { %s }\n", c.Class, fmt.Sprintf(c.Style, c.Light))
	}
	p.Add("@media (prefers-color-scheme: dark) {\n")
	for _, c := range paints {
		property, _, _ := strings.Cut(c.Style, ":")
		p.Add("%s { %s: %s }\n", c.Class, property, c.Dark)
	}
	p.Add("}\n</style>\n"+`<rect class="page" width="%g" height="%g" rx="8"/>`+"\n", width, height)
	return p
}

// Add adds a part.
func (p *Picture) Add(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// Say adds text at a position.
func (p *Picture) Say(x, y float64, class, words string) {
	p.Add(`<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(words))
}

// End returns the whole picture.
func (p *Picture) End() string {
	p.Add("</svg>\n")
	return p.String()
}

// Ceiling returns the next round number: 1, 2, 4, 6 or 8 times a power of ten.
func Ceiling(value float64) float64 {
	if value <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(value)))
	for _, times := range []float64{1, 2, 4, 6, 8} {
		if value <= times*unit {
			return times * unit
		}
	}
	return 10 * unit
}
