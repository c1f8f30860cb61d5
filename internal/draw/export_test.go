package draw

// What no call reaches from outside, for the tests of this package.
var (
	// Below is tested with every pattern of bits, and numbers come from a hash.
	Below = below
	// Deviations is tested with counts that no run meets in a lifetime.
	Deviations = deviations
)
