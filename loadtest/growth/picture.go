package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"drawsvc/loadtest/report"
)

// The sizes of a panel, in SVG units. Each database has one; they are side by side.
const (
	panelWidth, panelHeight = 590.0, 430.0
	left, right, top        = 60.0, 260.0, 60.0
	bottom                  = panelHeight - 40
)

func paints() []report.Paint {
	return []report.Paint{
		{Class: ".small", Style: "fill: %s; font-size: 11px", Light: "#59636e", Dark: "#9198a1"},
		{Class: ".awards", Style: "stroke: %s; stroke-dasharray: 4 4; fill: none", Light: "#59636e", Dark: "#9198a1"},
		{Class: ".grows", Style: "stroke: %s; stroke-width: 2; fill: none", Light: "#bc4c00", Dark: "#f0883e"},
		{Class: ".flat", Style: "stroke: %s; stroke-width: 2; fill: none", Light: "#0969da", Dark: "#58a6ff"},
	}
}

// picture shows each figure as a multiple of the one at the smallest size, on
// logarithmic axes. A figure along the dashed line grows linearly; one along a level
// line does not grow.
func picture(all []results) string {
	p := report.NewPicture(panelWidth*float64(max(1, len(all))), panelHeight, "What grows with the awards", paints()...)
	for n := range all {
		addPanel(p, &all[n], panelWidth*float64(n))
	}
	return p.End()
}

// drawnMeasures returns the names of the measures that the picture shows.
func drawnMeasures() []string {
	return []string{auditTime, deepTime, verifyTime, dumpTime, restoreTime, auditMemory, deepMemory, millionDraws, knownKey, feedTime, pageTime, migrateTime}
}

func addPanel(p *report.Picture, r *results, at float64) {
	p.Say(at+left, 26, "title", r.Database)
	p.Say(at+left, 44, "small", "times the figure at the smallest size, by awards")
	first, last := float64(r.Awards[0]), float64(r.Awards[len(r.Awards)-1])
	x := func(awards float64) float64 {
		return at + left + (panelWidth-left-right)*math.Log(awards/first)/math.Log(last/first)
	}
	const least, most = 0.1, 200.0
	y := func(times float64) float64 {
		return bottom - (bottom-top)*math.Log(min(most, max(least, times))/least)/math.Log(most/least)
	}
	for _, times := range []float64{0.1, 1, 10, 100} {
		p.Add(`<path class="grid" d="M%.1f %.1fH%.1f"/>`+"\n", at+left, y(times), at+panelWidth-right)
		p.Say(at+left-44, y(times)+4, "small", fmt.Sprintf("× %g", times))
	}
	for _, awards := range r.Awards {
		p.Say(x(float64(awards))-26, bottom+20, "small", millions(awards))
	}
	p.Add(`<path class="awards" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", x(first), y(1), x(last), y(last/first))
	type label struct {
		y    float64
		text string
	}
	labels := []label{{y(last / first), "the awards"}}
	for _, m := range measures() {
		values := r.Values[m.name]
		if !slices.Contains(drawnMeasures(), m.name) || len(values) == 0 || values[0] <= 0 {
			continue
		}
		var steps []string
		for k, v := range values {
			steps = append(steps, fmt.Sprintf("%.1f %.1f", x(float64(r.Awards[k])), y(v/values[0])))
		}
		class := map[bool]string{true: "grows", false: "flat"}[m.linear]
		p.Add(`<path class="%s" d="M%s"/>`+"\n", class, strings.Join(steps, "L"))
		name, _, _ := strings.Cut(m.name, ", a page")
		labels = append(labels, label{y(values[len(values)-1] / values[0]), name})
	}
	slices.SortStableFunc(labels, func(a, b label) int { return int(a.y - b.y) })
	for k, below := range labels {
		if k > 0 {
			labels[k].y = max(below.y, labels[k-1].y+13) // so that none covers another
		}
		p.Say(at+panelWidth-right+6, labels[k].y+4, "small", below.text)
	}
}
