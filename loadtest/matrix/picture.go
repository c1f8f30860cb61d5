package main

import (
	"fmt"
	"math"
	"strings"

	"drawsvc/loadtest/report"
)

// The sizes of a timeline's picture, in SVG units: two panels of the same width, one
// below the other.
const (
	width, height = 860.0, 560.0
	left, right   = 78.0, 836.0
)

func paints() []report.Paint {
	return []report.Paint{
		{Class: ".small", Style: "fill: %s; font-size: 12px", Light: "#59636e", Dark: "#9198a1"},
		{Class: ".axis", Style: "stroke: %s", Light: "#59636e", Dark: "#9198a1"},
		{Class: ".mark", Style: "stroke: %s; stroke-dasharray: 2 3", Light: "#59636e", Dark: "#9198a1"},
		{Class: ".won", Style: "stroke: %s; fill: none; stroke-width: 2", Light: "#0969da", Dark: "#58a6ff"},
		{Class: ".sold", Style: "stroke: %s; fill: none; stroke-width: 2; stroke-dasharray: 5 3", Light: "#bc4c00", Dark: "#f0883e"},
		{Class: ".left", Style: "stroke: %s; fill: none; stroke-width: 2.5", Light: "#1a7f37", Dark: "#3fb950"},
		{Class: ".under", Style: "fill: %s; fill-opacity: .12", Light: "#1a7f37", Dark: "#3fb950"},
	}
}

type panel struct {
	top, bottom    float64
	seconds, value float64 // the maximum of each axis
}

func (p panel) x(seconds float64) float64 { return left + (right-left)*seconds/p.seconds }
func (p panel) y(value float64) float64   { return p.bottom - (p.bottom-p.top)*value/p.value }

type point struct{ seconds, value float64 }

func (p panel) path(points []point) string {
	var steps []string
	for _, at := range points {
		steps = append(steps, fmt.Sprintf("%.1f %.1f", p.x(at.seconds), p.y(at.value)))
	}
	return "M" + strings.Join(steps, "L")
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
	rates := panel{top: 74, bottom: 250, seconds: last, value: report.Ceiling(fastest)}
	stock := panel{top: 330, bottom: 510, seconds: last, value: report.Ceiling(most)}

	p := report.NewPicture(width, height, "Draws over time and the stock that remains", paints()...)
	p.Say(left, 26, "title", "Answers per second")
	p.Say(left, 46, "small", t.Name)
	p.Add(`<path class="won" d="M%g 56h26"/><path class="sold" d="M%g 56h26"/>`+"\n", left, left+130)
	p.Say(left+32, 60, "small", "draws won")
	p.Say(left+162, 60, "small", "refused as sold out")
	rates.grid(p)
	p.Add(`<path class="won" d="%s"/><path class="sold" d="%s"/>`+"\n", rates.path(won), rates.path(sold))
	p.Say(left, 300, "title", "Units that remain")
	p.Say(left, 318, "small", "as the service answers while the draws run")
	stock.grid(p)
	line := stock.path(remaining)
	p.Add(`<path class="under" d="%sL%.1f %.1fL%.1f %.1fZ"/><path class="left" d="%s"/>`+"\n",
		line, stock.x(last), stock.bottom, stock.x(0), stock.bottom, line)
	t.marks(p, stock)
	p.Say((left+right)/2-24, 548, "small", "seconds")
	return p.End()
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

// marks labels the moments at which stock was added, and at which it ran out.
func (t timeline) marks(b *report.Picture, p panel) {
	before := t.Samples[0].Remaining
	for _, s := range t.Samples {
		x := p.x(s.Seconds)
		switch {
		case s.Remaining > before:
			b.Add(`<path class="mark" d="M%.1f %gV%g"/>`, x, p.top, p.bottom)
			b.Say(min(x+4, right-150), p.top+12, "small", "stock is added")
		case s.Remaining == 0 && before > 0:
			b.Add(`<path class="mark" d="M%.1f %gV%g"/>`, x, p.top+20, p.bottom)
			b.Say(min(x+4, right-150), p.bottom-10, "small", "exactly zero")
		}
		before = s.Remaining
	}
	b.Add("\n")
}

func (p panel) grid(b *report.Picture) {
	for i := range 5 {
		value := p.value * float64(i) / 4
		b.Add(`<path class="grid" d="M%g %.1fH%g"/>`, left, p.y(value), right)
		b.Add(`<text class="small" x="%g" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left-8, p.y(value)+4, value)
	}
	step := report.Ceiling(p.seconds) / 10
	for at := 0.0; at <= p.seconds; at += step {
		b.Add(`<text class="small" x="%.1f" y="%g" text-anchor="middle">%g</text>`+"\n", p.x(at), p.bottom+18, math.Round(at*10)/10)
	}
	b.Add(`<path class="axis" d="M%g %gH%g"/>`+"\n", left, p.bottom, right)
}
