package draw

import "strings"

// nearestMax is the maximum length of a word that is compared with others, in bytes:
// the cost grows with the square of the length.
const nearestMax = 64

// Nearest returns the known word that is most like a mistyped one, "" if no word is
// similar. At most one letter in three may be wrong, missing, added, or swapped with
// the next. Case is ignored.
func Nearest(word string, known []string) (nearest string) {
	typed := []rune(strings.ToLower(word))
	if len(word) > nearestMax {
		return ""
	}
	best := len(typed) + 1
	for _, k := range known {
		other := []rune(strings.ToLower(k))
		longest := max(len(typed), len(other))
		if len(k) > nearestMax || 3*max(longest-len(typed), longest-len(other)) > longest {
			continue
		}
		if d := mistakes(typed, other); d < best && 3*d <= longest {
			nearest, best = k, d
		}
	}
	return nearest
}

// mistakes returns the number of letters of a that must be changed, inserted, removed, or
// exchanged with the next one, so that a becomes b.
func mistakes(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// OrNearest returns a question to append to a sentence. It names the known word that is
// most like a mistyped one. It is "" if no word is similar.
func OrNearest(word string, known []string) string {
	nearest := Nearest(word, known)
	if nearest == "" {
		return ""
	}
	return `; did you mean "` + nearest + `"?`
}
