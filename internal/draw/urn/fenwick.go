package urn

// fenwick holds counts and finds the count that a running number falls into,
// both in O(log n), so that a pool of 100,000 prizes draws like one of ten.
// After P. M. Fenwick, "A New Data Structure for Cumulative Frequency Tables",
// Software: Practice and Experience 24(3), 1994.
type fenwick struct {
	// sums[i] holds the sum of the i&-i counts that end at place i, from 1;
	// sums[0] is not used.
	sums []int64
}

func newFenwick(counts []int64) fenwick {
	f := fenwick{sums: make([]int64, len(counts)+1, len(counts)+len(counts)/8+2)}
	copy(f.sums[1:], counts)
	for i := 1; i < len(f.sums); i++ {
		if parent := i + i&-i; parent < len(f.sums) {
			f.sums[parent] += f.sums[i]
		}
	}
	return f
}

// add changes the count at index i, from 0, by delta.
func (f *fenwick) add(i int, delta int64) {
	for i++; i < len(f.sums); i += i & -i {
		f.sums[i] += delta
	}
}

// push adds a count behind the last.
func (f *fenwick) push(count int64) {
	i := len(f.sums)
	if i == 0 {
		f.sums = append(f.sums, 0)
		i = 1
	}
	for step := 1; step < i&-i; step *= 2 {
		count += f.sums[i-step]
	}
	f.sums = append(f.sums, count)
}

// find returns the index of the count that unit falls into: the smallest i
// whose counts up to and including i sum to more than unit. unit must be
// from 0 to the total less one.
func (f *fenwick) find(unit int64) int {
	at, step := 0, 1
	for step*2 < len(f.sums) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if next := at + step; next < len(f.sums) && f.sums[next] <= unit {
			at = next
			unit -= f.sums[next]
		}
	}
	return at
}
