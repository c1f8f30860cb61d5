package main

import (
	"fmt"
	"strings"
)

// fallMax is how far a ratio may fall below the published one.
const fallMax = 0.2

// disturbanceMax is how many cores others may use in a measurement that is to
// be trusted.
const disturbanceMax = 0.1

// disturbed counts the measurements during which the machine worked for others,
// and all.
func (d document) disturbed() (count, all int) {
	for _, c := range d.Candidates {
		for _, f := range c.Rounds {
			all++
			if f[disturbance] > disturbanceMax {
				count++
			}
		}
	}
	return count, all
}

// fallen names the entries whose ratio is worse by more than fallMax than the
// published one. What is not published, or was not measured, has not fallen.
func (d document) fallen(published document) []string {
	before := published.byName()
	var names []string
	for _, e := range d.Entries {
		if was, ok := before[e.Name]; ok && !was.Missing && !e.Missing && e.worse(was) {
			names = append(names, e.Name)
		}
	}
	return names
}

// worse compares medians: what must be at least something has fallen when it
// is smaller, what must be at most something when it is greater. Where the best
// round is as good as the worst that was published, the others had a bad moment of the machine
// and not of the program, which is the same in all rounds.
func (j judged) worse(was judged) bool {
	if j.Most > 0 {
		return j.Median > was.Median/(1-fallMax) && j.Low > was.High
	}
	return j.Median < was.Median*(1-fallMax) && j.High < was.Low
}

func (d document) faults() []string {
	var faults []string
	for _, c := range d.Candidates {
		if c.Fault != "" {
			faults = append(faults, c.Name+": "+c.Fault)
		}
	}
	return faults
}

// unpublished names the entries that nothing is published for: a guard that
// compares with nothing guards nothing.
func (d document) unpublished(published document) []string {
	before := published.byName()
	var names []string
	for _, e := range d.Entries {
		if was, ok := before[e.Name]; !ok || was.Missing {
			names = append(names, e.Name)
		}
	}
	return names
}

// verdict is the error of a run: measurements that failed, in quick mode ratios
// that have fallen or have no published one, and beside another tree figures
// that became worse. A limit that is not reached is shown, and is no error: it
// depends on the machine.
func (d document) verdict(published document) error {
	if faults := d.faults(); len(faults) > 0 {
		return fmt.Errorf("measurements failed:\n  %s", strings.Join(faults, "\n  "))
	}
	if d.Against != "" {
		if slower := d.slower(); len(slower) > 0 {
			return fmt.Errorf("slower or worse than %s:\n  %s", d.Against, strings.Join(slower, "\n  "))
		}
		return nil
	}
	if !d.Quick {
		return nil
	}
	if fallen := d.fallen(published); len(fallen) > 0 {
		return d.fell(fallen, published)
	}
	if names := d.unpublished(published); len(names) > 0 {
		return fmt.Errorf("no ratio is published to compare with (bench, then bench publish) for:\n  %s", strings.Join(names, "\n  "))
	}
	return nil
}

func (d document) fell(fallen []string, published document) error {
	now, before := d.byName(), published.byName()
	lines := make([]string, len(fallen))
	for i, name := range fallen {
		lines[i] = fmt.Sprintf("%s: %.3g, published %.3g", name, now[name].Median, before[name].Median)
	}
	if count, all := d.disturbed(); count > 0 {
		lines = append(lines, fmt.Sprintf("(the machine worked for others during %d of %d measurements)", count, all))
	}
	return fmt.Errorf("%d ratios have fallen by more than %.0f %%:\n  %s", len(fallen), 100*fallMax, strings.Join(lines, "\n  "))
}

func (d document) byName() map[string]judged {
	entries := make(map[string]judged, len(d.Entries))
	for _, e := range d.Entries {
		entries[e.Name] = e
	}
	return entries
}
