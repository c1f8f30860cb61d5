package main

import (
	"fmt"
	"strings"

	"drawsvc/loadtest/report"
)

// The sizes of the picture, in SVG units.
const (
	chartWidth = 960.0
	chartLeft  = 430.0
	chartRight = 870.0
	chartTop   = 78.0
	rowHeight  = 34.0
)

func chartPaints() []report.Paint {
	return []report.Paint{
		{Class: ".small", Style: "fill: %s; font-size: 11px", Light: "#59636e", Dark: "#9198a1"},
		{Class: ".ruler", Style: "fill: %s", Light: "#8c959f", Dark: "#656c76"},
		{Class: ".service", Style: "fill: %s", Light: "#0969da", Dark: "#4493f8"},
		{Class: ".textbook", Style: "fill: %s", Light: "#bc4c00", Dark: "#f0883e"},
		{Class: ".spread", Style: "stroke: %s; stroke-width: 1.5", Light: "#1f2328", Dark: "#f0f6fc"},
	}
}

// chart draws a picture of the candidates' rates, divided by the no-op handler's, or of
// their latencies.
func (d document) chart() string {
	if rows := d.latencies(); len(rows) > 0 {
		return d.latencyChart(rows)
	}
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

	p := report.NewPicture(chartWidth, height, "Answers per second over those of a no-op handler", chartPaints()...)
	p.Say(20, 28, "title", "Answers per second, a no-op handler = 1")
	p.Say(20, 48, "small", fmt.Sprintf("medians of %d rounds with lowest and highest; %d callers, %d cores shared by all; under each name: what is durable when it answers",
		d.Settings["rounds"], d.Settings["connections"], d.CPUs))
	for at := 0.0; at <= longest; at += 0.25 {
		p.Add(`<path class="grid" d="M%.1f %gV%g"/>`, x(at), chartTop-8, height-20)
		p.Say(x(at)-6, height-6, "small", fmt.Sprint(at))
	}
	for i, c := range bars {
		y := chartTop + rowHeight*float64(i)
		rate := c.Middle[perSecond]
		p.Say(20, y+8, "name", c.Name)
		p.Say(20, y+21, "small", c.Durable)
		p.Add(`<rect class="%s" x="%g" y="%g" width="%.1f" height="16" rx="2"/>`, c.class(), chartLeft, y-3, x(rate.Median/ruler.Median)-chartLeft)
		p.Add(`<path class="spread" d="M%.1f %gH%.1f"/>`, x(rate.Low/ruler.Median), y+5, x(rate.High/ruler.Median))
		p.Say(x(rate.High/ruler.Median)+8, y+10, "value", short(rate.Median/ruler.Median))
	}
	return p.End()
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
