package rules

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"drawsvc/internal/draw"
)

// Telling holds the options for putting rules into words.
type Telling struct {
	// Name returns the name of a prize by its id.
	Name func(prizeID string) string
	// Currency is the currency of the budget, "" for none.
	Currency string
	// HasMoments means that the agenda has contained a winning moment at some time.
	// Moments are not a member of the rules.
	HasMoments bool
	// ToPlayers leaves out what players may not read.
	ToPlayers bool
}

// NamesOf returns a function that gives the displayed name of each prize by its id. It
// returns an unknown id unchanged.
func NamesOf(prizes []draw.Prize) func(prizeID string) string {
	names := make(map[string]string, len(prizes))
	for i := range prizes {
		names[prizes[i].ID] = prizes[i].ShownName()
	}
	return NamesIn(names)
}

// NamesIn is NamesOf for a map of displayed names. A prize without a name has its id as
// its name.
func NamesIn(names map[string]string) func(prizeID string) string {
	return func(id string) string {
		if name := names[id]; name != "" {
			return name
		}
		return id
	}
}

// Words expresses rules, including nil rules, in English sentences. Each sentence
// states one rule, in the order in which the rules decide a draw.
func Words(r *draw.Rules, t Telling) []string {
	w := &words{Telling: t, rules: r}
	if r == nil {
		w.say(uniform)
		w.moments()
		return w.all
	}
	if r.Unreadable() != nil {
		return []string{"This instance cannot read the rules: they are of another release, or damaged."}
	}
	w.tickets()
	w.law()
	w.moments()
	if r.Fallback != "" {
		w.say("A draw that gets nothing else gets %s.", w.named(r.Fallback))
	}
	w.guarantee()
	for i := range r.Limits {
		w.limit(&r.Limits[i])
	}
	w.budget()
	w.withheld()
	w.zone()
	w.claims()
	w.forOperators()
	return w.all
}

const uniform = "Each draw takes one unit, at random: every unit that remains is equally likely."

// words collects sentences.
type words struct {
	Telling
	rules *draw.Rules
	all   []string
}

// sees returns how much of a member the sentences may state.
func (w *words) sees(member string) sight {
	if !w.ToPlayers {
		return sightAll
	}
	return playersSee(w.rules, member)
}

func (w *words) say(format string, args ...any) { w.all = append(w.all, fmt.Sprintf(format, args...)) }

// named returns the name of a prize in quotes. A name that is written from right to
// left is isolated, because a number after it would otherwise be shown before it.
func (w *words) named(prizeID string) string {
	name := w.Name(prizeID)
	if strings.ContainsFunc(name, isRightToLeft) {
		name = "\u2068" + name + "\u2069"
	}
	return "“" + name + "”"
}

func isRightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
}

// law adds the law by which a draw is decided.
func (w *words) law() {
	r := w.rules
	switch {
	case r.Odds != nil && w.sees("odds") == sightAll:
		w.odds()
	case !r.Win.IsOne() && w.sees("win") == sightAll:
		w.say("A draw takes a unit with a chance of %s; every unit that remains is then equally likely.", chance(r.Win.A, r.Win.B))
	case r.Odds != nil:
		w.say("Each prize has a fixed chance, whatever remains of it.")
	case !r.Win.IsOne():
		w.say("A draw takes a unit with a fixed chance; every unit that remains is then equally likely.")
	default:
		w.say(uniform)
	}
}

// moments adds the effect of a winning moment.
func (w *words) moments() {
	if w.HasMoments {
		w.say("At winning moments, which nobody knows before, the next draw gets a prize, whatever the chances.")
	}
}

func (w *words) tickets() {
	if w.rules.Tickets {
		w.say("A draw needs a ticket, and each ticket allows one draw.")
	}
	switch n := len(w.rules.Blocked); {
	case n == 0:
	case w.sees("blocked") < sightAll:
		w.say("Users who are blocked cannot draw.")
	case n == 1:
		w.say("1 user is blocked and cannot draw.")
	default:
		w.say("%s users are blocked and cannot draw.", thousands(int64(n)))
	}
}

// namedMax is the maximum number of prizes whose fixed chances a sentence names.
const namedMax = 20

func (w *words) odds() {
	var stated []string
	none := 0
	for _, p := range w.rules.Odds.Prizes {
		if p.Share == 0 {
			none++
			continue
		}
		stated = append(stated, w.named(p.PrizeID)+" "+chance(p.Share, w.rules.Odds.Of))
	}
	if len(stated) > namedMax {
		stated = append(stated[:namedMax], thousands(int64(len(stated)-namedMax))+" more prizes")
	}
	switch {
	case len(stated) == 0:
		w.say("No prize has a chance of its own.")
		return
	case none > 0:
		stated = append(stated, "no chance for "+thousands(int64(none))+" of the prizes")
	}
	w.say("Each prize has a fixed chance, whatever remains of it: %s.", join(stated))
	w.say("The chance of a prize that is used up goes to no other prize.")
}

func (w *words) guarantee() {
	g := w.rules.Guarantee
	switch {
	case g == nil || w.sees("guarantee") < sightAll:
	case g.After == 0:
		w.say("A draw that wins nothing gets %s, while stock lasts.", w.named(g.PrizeID))
	case g.After == 1:
		w.say("After 1 draw without a win, the user's next draw gets %s if it wins nothing else, while stock lasts.", w.named(g.PrizeID))
	default:
		w.say("After %s draws in a row without a win, the user's next draw gets %s if it wins nothing else, while stock lasts.", thousands(g.After), w.named(g.PrizeID))
	}
}

func (w *words) limit(l *draw.Limit) {
	often := thousands(l.Max) + " times"
	switch l.Max {
	case 1:
		often = "once"
	case 2:
		often = "twice"
	}
	often += during(l.Per)
	switch l.Of {
	case draw.LimitDraws:
		w.say("Each %s draws at most %s.", l.By, often)
	case draw.LimitWins:
		w.say("Each %s wins at most %s.", l.By, often)
	case draw.LimitPrize:
		w.say("Each %s wins %s at most %s.", l.By, w.named(l.PrizeID), often)
	}
}

func (w *words) budget() {
	b := w.rules.Budget
	switch {
	case b == nil:
	case w.sees("budget") < sightAll:
		w.say("Prizes are given while the operator's budget lasts.")
	default:
		amount := money(b.Max)
		if w.Currency != "" {
			amount += " " + w.Currency
		}
		w.say("Prizes worth at most %s are given%s.", amount, during(b.Per))
	}
}

// withheld adds the sentences about prizes that are drawn but not given. Other sentences
// state what such a draw gets instead.
func (w *words) withheld() {
	var bounds []string
	if slices.ContainsFunc(w.rules.Limits, func(l draw.Limit) bool { return l.Of != draw.LimitDraws }) {
		bounds = append(bounds, "a limit")
	}
	if w.rules.Budget != nil {
		bounds = append(bounds, "the budget")
	}
	if len(bounds) > 0 {
		w.say("A win beyond %s is not given, and the chances of all others stay the same.", strings.Join(bounds, " or "))
	}
}

// zone adds a sentence about where the windows of the calendar begin, if there are any.
func (w *words) zone() {
	follows := w.rules.Budget != nil && w.sees("budget") == sightAll && isCalendar(w.rules.Budget.Per)
	for i := range w.rules.Limits {
		follows = follows || isCalendar(w.rules.Limits[i].Per)
	}
	if follows {
		w.say("Hours, days, weeks from Monday and months are those of the time zone %s.", w.rules.Zone)
	}
}

func isCalendar(p draw.Per) bool { return !p.IsEver() && p.Rolling() == 0 }

func (w *words) claims() {
	c := w.rules.Claims
	if c == nil {
		return
	}
	whose, have := "Prizes", "have"
	if c.Prizes != nil {
		stated := make([]string, 0, len(c.Prizes))
		for _, id := range c.Prizes {
			stated = append(stated, w.named(id))
		}
		if len(stated) > namedMax {
			stated = append(stated[:namedMax], thousands(int64(len(stated)-namedMax))+" more prizes")
		}
		if whose = join(stated); len(stated) == 1 {
			have = "has"
		}
	}
	switch {
	case c.Within == 0:
		w.say("%s %s to be claimed.", whose, have)
	case c.Return:
		w.say("%s %s to be claimed within %s; what is not claimed goes back into stock.", whose, have, lasting(c.Within))
	default:
		w.say("%s %s to be claimed within %s; what is not claimed is lost.", whose, have, lasting(c.Within))
	}
}

// forOperators adds the sentences that are only for operators.
func (w *words) forOperators() {
	if w.sees("low") < sightAll {
		return
	}
	for _, l := range w.rules.Low {
		w.say("A warning is given when fewer than %s units of %s remain.", thousands(l.Below), w.named(l.PrizeID))
	}
	if w.rules.Disclose {
		w.say("Players may read the odds.")
	} else {
		w.say("Players may not read the odds.")
	}
}

// chance returns a chance of a in b, also as a percentage.
func chance(a, b int64) string {
	if a == b {
		return "1 in 1 (100 %)"
	}
	text, isExact := percent(a, b)
	if !isExact {
		text = "about " + text
	}
	return fmt.Sprintf("%s in %s (%s)", thousands(a), thousands(b), text)
}

// percentDigits is the number of digits that a percentage has after its leading zeros.
const percentDigits = 3

// percent returns a in b as a percentage, and whether it is exact.
func percent(a, b int64) (text string, isExact bool) {
	share := big.NewRat(a, b)
	share.Mul(share, big.NewRat(100, 1))
	decimals := percentDigits - 1
	for low := big.NewRat(1, 1); share.Cmp(low) < 0; low.Quo(low, big.NewRat(10, 1)) {
		decimals++
	}
	text = share.FloatString(decimals)
	shown, _ := new(big.Rat).SetString(text) // it has just been written
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	return text + " %", shown.Cmp(share) == 0
}

// during returns the window of a limit or a budget, with a blank before it.
func during(p draw.Per) string {
	switch {
	case p.IsEver():
		return " in all"
	case p.Rolling() > 0:
		return " within any " + lasting(p.Rolling())
	case p.String() == "hour":
		return " an hour"
	}
	return " a " + p.String()
}

// lasting returns a length of time in its largest whole unit.
func lasting(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int64(d / unit.of); n > 0 && d%unit.of == 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return thousands(n) + " " + unit.name + "s"
		}
	}
	return d.String()
}

// join lists texts as English does.
func join(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// thousands formats a number of at least 0 with commas.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// money returns an amount of cents with commas.
func money(cents int64) string { return fmt.Sprintf("%s.%02d", thousands(cents/100), cents%100) }
