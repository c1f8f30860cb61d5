package main

import (
	"fmt"
	"math"
	"strings"
)

// The picture, in SVG units: two panels of one width under each other.
const (
	width, height = 860.0, 560.0
	left, right   = 78.0, 836.0
)

// The colours follow the reader's mode. The picture brings its own background,
// for a page may be dark while the reader's system is light.
const style = `<style>
.page { fill: #ffffff }
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.small { fill: #59636e; font-size: 12px }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.axis { stroke: #59636e; stroke-width: 1 }
.won { stroke: #0969da; fill: none; stroke-width: 2 }
.sold { stroke: #bc4c00; fill: none; stroke-width: 2; stroke-dasharray: 5 3 }
.left { stroke: #1a7f37; fill: none; stroke-width: 2.5 }
.under { fill: #1a7f37; fill-opacity: .12 }
.mark { stroke: #59636e; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 }
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.grid { stroke: #3d444d }
.axis, .mark { stroke: #9198a1 }
.won { stroke: #58a6ff }
.sold { stroke: #f0883e }
.left { stroke: #3fb950 }
.under { fill: #3fb950 }
}
</style>`

type panel struct {
	top, bottom    float64
	seconds, value float64 // the greatest of each
}

func (p panel) x(seconds float64) float64 { return left + (right-left)*seconds/p.seconds }
func (p panel) y(value float64) float64   { return p.bottom - (p.bottom-p.top)*value/p.value }

type point struct{ seconds, value float64 }

func (p panel) path(points []point) string {
	var b strings.Builder
	for i, at := range points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", letter, p.x(at.seconds), p.y(at.value))
	}
	return b.String()
}

func (t timeline) svg() string {
	last := t.Samples[len(t.Samples)-1].Seconds
	won, sold := t.rates()
	var fastest, most float64
	for i := range won {
		fastest = max(fastest, won[i].value, sold[i].value)
	}
	var remaining []point
	for _, s := range t.Samples {
		most = max(most, s.Remaining)
		remaining = append(remaining, point{s.Seconds, s.Remaining})
	}
	rates := panel{top: 74, bottom: 250, seconds: last, value: ceiling(fastest)}
	stock := panel{top: 330, bottom: 510, seconds: last, value: ceiling(most)}

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="Draws over time and the stock that remains">`, width, height)
	fmt.Fprintf(&b, "\n%s\n"+`<rect class="page" width="%g" height="%g" rx="8"/>`+"\n", style, width, height)
	say(&b, left, 26, "title", "Answers per second")
	say(&b, left, 46, "small", t.Name)
	fmt.Fprintf(&b, `<path class="won" d="M%g 56h26"/><path class="sold" d="M%g 56h26"/>`+"\n", left, left+130)
	say(&b, left+32, 60, "small", "draws won")
	say(&b, left+162, 60, "small", "refused as sold out")
	rates.grid(&b)
	fmt.Fprintf(&b, `<path class="won" d="%s"/><path class="sold" d="%s"/>`+"\n", rates.path(won), rates.path(sold))
	say(&b, left, 300, "title", "Units that remain")
	say(&b, left, 318, "small", "as the service answers while the draws run")
	stock.grid(&b)
	line := stock.path(remaining)
	fmt.Fprintf(&b, `<path class="under" d="%sL%.1f %.1fL%.1f %.1fZ"/><path class="left" d="%s"/>`+"\n",
		line, stock.x(last), stock.bottom, stock.x(0), stock.bottom, line)
	t.marks(&b, stock)
	say(&b, (left+right)/2-24, 548, "small", "seconds")
	b.WriteString("</svg>\n")
	return b.String()
}

const window = 5

func (t timeline) rates() (won, sold []point) {
	for i := range t.Samples {
		j := max(0, i-window)
		a, b := t.Samples[j], t.Samples[i]
		span := b.Seconds - a.Seconds
		if span <= 0 {
			continue
		}
		won = append(won, point{b.Seconds, (b.Won - a.Won) / span})
		sold = append(sold, point{b.Seconds, (b.SoldOut - a.SoldOut) / span})
	}
	return won, sold
}

// marks names the moments at which stock came in, and at which it ran out.
func (t timeline) marks(b *strings.Builder, p panel) {
	before := t.Samples[0].Remaining
	for _, s := range t.Samples {
		x := p.x(s.Seconds)
		switch {
		case s.Remaining > before:
			fmt.Fprintf(b, `<path class="mark" d="M%.1f %gV%g"/>`, x, p.top, p.bottom)
			say(b, min(x+4, right-150), p.top+12, "small", "stock is added")
		case s.Remaining == 0 && before > 0:
			fmt.Fprintf(b, `<path class="mark" d="M%.1f %gV%g"/>`, x, p.top+20, p.bottom)
			say(b, min(x+4, right-150), p.bottom-10, "small", "exactly zero")
		}
		before = s.Remaining
	}
	b.WriteString("\n")
}

func (p panel) grid(b *strings.Builder) {
	for i := range 5 {
		value := p.value * float64(i) / 4
		fmt.Fprintf(b, `<path class="grid" d="M%g %.1fH%g"/>`, left, p.y(value), right)
		fmt.Fprintf(b, `<text class="small" x="%g" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left-8, p.y(value)+4, value)
	}
	step := ceiling(p.seconds) / 10
	for at := 0.0; at <= p.seconds; at += step {
		fmt.Fprintf(b, `<text class="small" x="%.1f" y="%g" text-anchor="middle">%g</text>`+"\n", p.x(at), p.bottom+18, math.Round(at*10)/10)
	}
	fmt.Fprintf(b, `<path class="axis" d="M%g %gH%g"/>`+"\n", left, p.bottom, right)
}

// ceiling is the next round number: 1, 2, 4, 6 or 8 times a power of ten.
func ceiling(value float64) float64 {
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

func say(b *strings.Builder, x, y float64, class, words string) {
	words = strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(words)
	fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, words)
}
