package main

import (
	"fmt"
	"strings"
)

// The picture, in SVG units.
const (
	chartWidth = 960.0
	chartLeft  = 430.0
	chartRight = 870.0
	chartTop   = 78.0
	rowHeight  = 34.0
)

// The colours follow the reader's mode. The picture brings its own background,
// for a page may be dark while the reader's system is light.
const chartStyle = `<style>
.page { fill: #ffffff }
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.small { fill: #59636e; font-size: 11px }
.grid { stroke: #d1d9e0 }
.ruler { fill: #8c959f }
.service { fill: #0969da }
.textbook { fill: #bc4c00 }
.spread { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 }
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.grid { stroke: #3d444d }
.ruler { fill: #656c76 }
.service { fill: #4493f8 }
.textbook { fill: #f0883e }
.spread { stroke: #f0f6fc }
}
</style>`

// chart draws the candidates' answers per second over the no-op handler's.
func (d document) chart() string {
	ruler := d.ruler()[perSecond]
	var bars []measured
	longest := 1.0
	for _, c := range d.Candidates {
		if ruler.Median == 0 || c.Middle[serviceCPU].Median == 0 || strings.Contains(c.Name, "one caller") {
			continue
		}
		bars = append(bars, c)
		longest = max(longest, c.Middle[perSecond].High/ruler.Median)
	}
	height := chartTop + rowHeight*float64(len(bars)) + 24
	x := func(ratio float64) float64 { return chartLeft + (chartRight-chartLeft)*ratio/longest }

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="Answers per second over those of a no-op handler">`, chartWidth, height)
	fmt.Fprintf(&b, "\n%s\n"+`<rect class="page" width="%g" height="%g" rx="8"/>`+"\n", chartStyle, chartWidth, height)
	say(&b, 20, 28, "title", "Answers per second, a no-op handler = 1")
	say(&b, 20, 48, "small", fmt.Sprintf("medians of %d rounds with lowest and highest; %d callers, %d cores shared by all; under each name: what is durable when it answers",
		d.Settings["rounds"], d.Settings["connections"], d.CPUs))
	for at := 0.0; at <= longest; at += 0.25 {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %gV%g"/>`, x(at), chartTop-8, height-20)
		say(&b, x(at)-6, height-6, "small", fmt.Sprint(at))
	}
	for i, c := range bars {
		y := chartTop + rowHeight*float64(i)
		rate := c.Middle[perSecond]
		say(&b, 20, y+8, "name", c.Name)
		say(&b, 20, y+21, "small", c.Durable)
		fmt.Fprintf(&b, `<rect class="%s" x="%g" y="%g" width="%.1f" height="16" rx="2"/>`, c.class(), chartLeft, y-3, x(rate.Median/ruler.Median)-chartLeft)
		fmt.Fprintf(&b, `<path class="spread" d="M%.1f %gH%.1f"/>`, x(rate.Low/ruler.Median), y+5, x(rate.High/ruler.Median))
		say(&b, x(rate.High/ruler.Median)+8, y+10, "value", short(rate.Median/ruler.Median))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (m measured) class() string {
	switch {
	case strings.HasPrefix(m.Name, "no-op"):
		return "ruler"
	case strings.HasPrefix(m.Name, "textbook"):
		return "textbook"
	}
	return "service"
}

func say(b *strings.Builder, x, y float64, class, words string) {
	words = strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(words)
	fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, words)
}
