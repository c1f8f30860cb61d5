package rules_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/rules"
)

func TestParseRules(t *testing.T) {
	r := drawtest.Rules(t, drawtest.Whole)
	require.NoError(t, r.Check(drawtest.Campaign()))
	require.Equal(t, draw.Fraction{A: 1, B: 50}, r.Win)
	require.Equal(t, "none", r.Fallback)
	require.Equal(t, &draw.Guarantee{After: 9, PrizeID: "bronze"}, r.Guarantee)
	require.Equal(t, []draw.Limit{
		{Of: draw.LimitDraws, Max: 3, Per: drawtest.Per(t, "day")}, {Of: draw.LimitWins, Max: 1},
		{Of: draw.LimitPrize, PrizeID: "gold", Max: 1, Per: drawtest.Per(t, "168h")},
	}, r.Limits)
	require.Equal(t, &draw.Budget{Max: 500_000, Per: drawtest.Per(t, "day")}, r.Budget)
	require.Equal(t, "Europe/Berlin", r.Zone.String())
	require.True(t, r.Tickets && r.Disclose && r.Blocked["u7"])
	require.Equal(t, []draw.Low{{PrizeID: "gold", Below: 5}}, r.Low)
	require.Equal(t, []draw.Counted{draw.CountedMiss, draw.CountedDraw, draw.CountedWin, draw.CountedPrize("gold")}, r.Counted())

	fixed := drawtest.Rules(t, `{"odds":{"of":1000000,"prizes":{"silver":500,"gold":10,"bronze":0}},"fallback":"none"}`)
	require.NoError(t, fixed.Check(drawtest.Campaign()))
	require.Equal(t, []draw.FixedShare{{PrizeID: "bronze", Share: 0}, {PrizeID: "gold", Share: 10}, {PrizeID: "silver", Share: 500}}, fixed.Odds.Prizes, "in order of ids")
	require.True(t, fixed.Win.IsOne())

	empty := drawtest.Rules(t, `{}`)
	require.NoError(t, empty.Check(nil))
	require.Equal(t, time.UTC, empty.Zone)
	require.Empty(t, empty.Counted())
	require.Empty(t, (*draw.Rules)(nil).Counted())
}

// TestRulesAreTheSame: order and blanks make no difference; anything else does.
func TestRulesAreTheSame(t *testing.T) {
	a := drawtest.Rules(t, `{"win":"1/2","fallback":"none"}`)
	b := drawtest.Rules(t, "{ \"fallback\" : \"none\",\n \"w\\u0069n\":\"1/2\" }")
	require.Equal(t, `{"win":"1/2","fallback":"none"}`, b.Document())
	require.True(t, a.Same(b))
	require.Equal(t, a.SHA256(), b.SHA256())
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(a.Document()))), a.SHA256())
	require.False(t, a.Same(drawtest.Rules(t, `{"win":"2/4","fallback":"none"}`)), "numbers are drawn below b as it is written")
	require.False(t, a.Same(nil))
	require.True(t, (*draw.Rules)(nil).Same(nil))
	again := drawtest.Rules(t, a.Document())
	require.True(t, a.Same(again), "the canonical document is its own")
}

// TestParseRulesRefuses: every malformed document is refused, and the error names the
// wrong member.
func TestParseRulesRefuses(t *testing.T) {
	limits := strings.Repeat(`{"of":"draws","max":1,"per":"1s"},`, draw.LimitsMax)
	blocked := func(n int) string {
		var users []string
		for i := range n {
			users = append(users, fmt.Sprint("u", i))
		}
		b, err := json.Marshal(users)
		require.NoError(t, err)
		return string(b)
	}
	odds := func(n int) string {
		shares := map[string]int{}
		for i := range n {
			shares[fmt.Sprint("p", i)] = 1
		}
		b, err := json.Marshal(shares)
		require.NoError(t, err)
		return string(b)
	}
	drawtest.Rules(t, `{"blocked":`+blocked(draw.BlockedMax)+`}`)
	drawtest.Rules(t, `{"fallback":"n","odds":{"of":1000,"prizes":`+odds(draw.OddsMax)+`}}`)
	for document, says := range map[string]string{
		``:                                    "must be a JSON object",
		`[]`:                                  "must be a JSON object",
		`null`:                                "must be a JSON object",
		`{`:                                   "not valid JSON",
		`{} {}`:                               "not valid JSON",
		`{"a":1}`:                             `unknown member "a"`,
		`{"Win":"1/2"}`:                       `unknown member "Win"`,
		`{"limits":[{"of":"draws","min":1}]}`: `unknown member "limits[0].min"`,
		`{"win":"1/2","win":"1/3"}`:           `"win" is there twice`,
		`{"win":null}`:                        `"win" is null`,
		`{"limits":[null]}`:                   `"limits[0]" is null`,
		`{"win":0.5}`:                         `"win" must be a string`,
		`{"win":"0/1"}`:                       `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"2/1"}`:                       `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"1/1000000001"}`:              `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"01/2"}`:                      `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"+1/2"}`:                      `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"1/2/3"}`:                     `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"1 /2"}`:                      `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"1"}`:                         `"win" must be a fraction a/b such as "1/20"`,
		`{"win":"1/2"}`:                       `"fallback" is missing: "win" below 1`,
		`{"win":"1/2","fallback":"n","odds":{"of":1,"prizes":{}}}`:                     `"win" and "odds" exclude`,
		`{"odds":{"of":9,"prizes":{}}}`:                                                `"fallback" is missing: "odds"`,
		`{"fallback":"n","odds":{"prizes":{}}}`:                                        `"odds.of" is missing`,
		`{"fallback":"n","odds":{"of":1}}`:                                             `"odds.prizes" is missing`,
		`{"fallback":"n","odds":{"of":0,"prizes":{}}}`:                                 `"odds.of" must be 1 to`,
		`{"fallback":"n","odds":{"of":1.5,"prizes":{}}}`:                               `"odds.of" must be a whole number`,
		`{"fallback":"n","odds":{"of":1e3,"prizes":{}}}`:                               `"odds.of" must be a whole number`,
		`{"fallback":"n","odds":{"of":9,"prizes":{"a":5,"b":5}}}`:                      `add up to 10`,
		`{"fallback":"n","odds":{"of":9,"prizes":{"a":-1}}}`:                           `"odds.prizes.a" must be 0 to 9`,
		`{"fallback":"n","odds":{"of":9,"prizes":{"n":1}}}`:                            `"odds.prizes.n" is the fallback`,
		`{"fallback":"n","odds":{"of":9,"prizes":{"A":1}}}`:                            `"odds.prizes" must match`,
		`{"fallback":"n","odds":{"of":1000000,"prizes":` + odds(draw.OddsMax+1) + `}}`: `"odds.prizes" names more than`,
		`{"fallback":""}`:                                                                   `"fallback" is missing`,
		`{"fallback":"NO"}`:                                                                 `"fallback" must match`,
		`{"guarantee":{"after":1,"prize":"a"}}`:                                             `"fallback" is missing: "guarantee"`,
		`{"guarantee":{"prize":"a"}}`:                                                       `"guarantee.after" is missing`,
		`{"guarantee":{"after":1}}`:                                                         `"guarantee.prize" is missing`,
		`{"guarantee":{"after":-1,"prize":"a"}}`:                                            `"guarantee.after" must be 0 to 100000`,
		`{"guarantee":{"after":100001,"prize":"a"}}`:                                        `"guarantee.after" must be 0 to 100000`,
		`{"guarantee":[]}`:                                                                  `"guarantee" must be an object`,
		`{"limits":{}}`:                                                                     `"limits" must be a list`,
		`{"limits":[{"max":1}]}`:                                                            `"limits[0].of" is missing`,
		`{"limits":[{"of":"users","max":1}]}`:                                               `"limits[0].of" must be draws, wins or prize`,
		`{"limits":[{"of":"draws"}]}`:                                                       `"limits[0].max" is missing`,
		`{"limits":[{"of":"draws","max":0}]}`:                                               `"limits[0].max" must be 1 to 1000000`,
		`{"limits":[{"of":"draws","max":1000001}]}`:                                         `"limits[0].max" must be 1 to 1000000`,
		`{"limits":[{"of":"draws","max":"1"}]}`:                                             `"limits[0].max" must be a whole number`,
		`{"limits":[{"of":"draws","max":1,"prize":"a"}]}`:                                   `"limits[0].prize" belongs`,
		`{"limits":[{"of":"prize","max":1}]}`:                                               `"limits[0].prize" is missing`,
		`{"limits":[{"of":"draws","max":1,"per":"year"}]}`:                                  `"limits[0].per" must be hour`,
		`{"limits":[{"of":"draws","max":1,"per":""}]}`:                                      `"limits[0].per" must be hour`,
		`{"limits":[{"of":"draws","max":1,"per":"999ms"}]}`:                                 `"limits[0].per" must be hour`,
		`{"limits":[{"of":"draws","max":1,"per":"8761h"}]}`:                                 `"limits[0].per" must be hour`,
		`{"limits":[{"of":"draws","max":1,"per":"1000000001ns"}]}`:                          `"limits[0].per" must be hour`,
		`{"limits":[{"of":"draws","max":1},{"of":"draws","max":2}]}`:                        `"limits[1]" limits the same as "limits[0]"`,
		`{"limits":[{"of":"draws","max":1,"per":"1h"},{"of":"draws","max":2,"per":"60m"}]}`: `limits the same as "limits[0]"`,
		`{"limits":[` + limits + `{"of":"wins","max":1}]}`:                                  `more than 16 limits`,
		`{"limits":[{"of":"wins","max":1}]}`:                                                `"fallback" is missing: "limits[0]", of wins,`,
		`{"limits":[{"of":"draws","max":1},{"of":"prize","prize":"a","max":1}]}`:            `"fallback" is missing: "limits[1]", of prize,`,
		`{"budget":{"max":"5"}}`:                                                            `"fallback" is missing: "budget"`,
		`{"budget":{}}`:                                                                     `"budget.max" is missing`,
		`{"budget":{"max":""}}`:                                                             `"budget.max" must be an amount`,
		`{"budget":{"max":"1.005"}}`:                                                        `"budget.max" must be an amount`,
		`{"budget":{"max":5}}`:                                                              `"budget.max" must be a string`,
		`{"budget":{"max":"5","per":"24h"}}`:                                                `"budget.per" must be hour, day, week or month`,
		`{"zone":"Mars/Olympus"}`:                                                           `"zone" is not the name`,
		`{"zone":""}`:                                                                       `"zone" is not the name`,
		`{"zone":"Local"}`:                                                                  `"zone" is not the name`,
		`{"zone":"localtime"}`:                                                              `"zone" is not the name`,
		`{"zone":"posixrules"}`:                                                             `"zone" is not the name`,
		`{"zone":"right/Europe/Berlin"}`:                                                    `"zone" is not the name`,
		`{"zone":"posix/Europe/Berlin"}`:                                                    `"zone" is not the name`,
		`{"zone":"../etc/passwd"}`:                                                          `"zone" is not the name`,
		`{"tickets":"yes"}`:                                                                 `"tickets" must be true or false`,
		`{"blocked":["u","u"]}`:                                                             `"blocked[1]" is there twice`,
		`{"blocked":[" u"]}`:                                                                `"blocked[0]" is no user`,
		`{"blocked":"u"}`:                                                                   `"blocked" must be a list`,
		`{"blocked":` + blocked(draw.BlockedMax+1) + `}`:                                    `"blocked" names more than 1000`,
		`{"low":[{"prize":"a"}]}`:                                                           `"low[0].below" is missing`,
		`{"low":[{"prize":"a","below":0}]}`:                                                 `"low[0].below" must be 1 to`,
		`{"low":[{"below":1}]}`:                                                             `"low[0].prize" is missing`,
		`{"low":[{"prize":"a","below":1},{"prize":"a","below":2}]}`:                         `"low[1].prize" is there twice`,
		"{\"zone\":\"\xff\"}":                                                               "not valid JSON",
		`{}` + strings.Repeat(" ", draw.RulesMax):                                           "larger than 65536",
	} {
		_, err := rules.Parse([]byte(document))
		drawtest.Invalid(t, err, says)
	}
}

// TestErrorsOfRulesArePlaced: an error states the line and the column of its member, or
// of the invalid JSON, and proposes the most similar known name. The broken double has
// the member at another place.
func TestErrorsOfRulesArePlaced(t *testing.T) {
	t.Parallel()
	for document, says := range map[string]string{
		"{\"fallback\":\"none\",\n  \"limit\":[]}": `unknown member "limit"; did you mean "limits"? (line 2, column 3)`,
		"{\"ü\":1}": `unknown member "ü" (line 1, column 2)`,
		"{\n\"limits\": [\n {\"of\":\"draws\",\"max\":1},\n {\"off\":\"wins\"}]}": `unknown member "limits[1].off"; did you mean "of"? (line 4, column 3)`,
		"{\"limits\":[{\"of\":\"draws\",\"max\":1},\n  {\"of\":\"draws\"}]}":      `"limits[1].max" is missing (line 2, column 3)`,
		"{\"limits\":[{\"of\":\"draws\",\n\t\"max\":1,\n\t\"per\":\"days\"}]}":    `or a duration from 1s to 8760h; did you mean "day"? (line 3, column 2)`,
		"{\"tickets\":\n\t\"yes\"}":            `"tickets" must be true or false (line 1, column 2)`,
		"{\"blocked\":[\"ü\",\n\"u\", \"u\"]}": `"blocked[2]" is there twice (line 2, column 6)`,
		"{\"zone\":\"europe/berlin\"}":         `did you mean "Europe/Berlin"? (line 1, column 2)`,
		"{\"zone\":\"Berlin\"}":                `did you mean "Europe/Berlin"? (line 1, column 2)`,
		"{\"fallback\":\"none\",\n\"odds\":{\"of\":5,\"prizes\":{\n \"mug\":1,\"hat\":6}}}": `"odds.prizes.hat" must be 0 to 5 (line 3, column 10)`,
		"{\"fallback\":\"No Luck\"}":           `did you mean "no-luck"? (line 1, column 2)`,
		"{\"fallback\":null}":                  `"fallback" is null; leave it out (line 1, column 2)`,
		"{\"win\":\"1/2\",\n \"win\":\"1/3\"}": `"win" is there twice (line 2, column 2)`,
		"{\n\"win\":\"1/2\",\n}":               "rules are not valid JSON at line 2, column 12",
		"{\u201cwin\u201d:1}":                  `rules are not valid JSON at line 1, column 2`,
		`{"win":"1/2"}`:                        `"fallback" is missing: "win" below 1 needs an endless blank to fall back to`,
	} {
		_, err := rules.Parse([]byte(document))
		drawtest.Invalid(t, err, says)
		require.NotContains(t, err.Error(), ") (", "placed once")
	}
	document := "{\n  \"low\": [\n    {\"prize\": \"glod\", \"below\": 5}]}"
	err := drawtest.Rules(t, document).Check(drawtest.Campaign())
	drawtest.Invalid(t, rules.Place(err, []byte(document)), `of the pool; did you mean "gold"? (line 3, column 6)`)
	drawtest.Invalid(t, rules.Place(err, []byte(`{"blocked":[]}`)), `did you mean "gold"?`)
	require.NotContains(t, rules.Place(err, []byte(`{"blocked":[]}`)).Error(), "line")
	require.NoError(t, rules.Place(nil, nil))
}

// TestRulesCheck: rules that do not fit the prizes are refused.
func TestRulesCheck(t *testing.T) {
	for document, says := range map[string]string{
		`{"fallback":"absent"}`: `"fallback" names "absent", which is no prize`,
		`{"fallback":"gold"}`:   `"fallback" names "gold", which is not an endless blank`,
		`{"fallback":"lost"}`:   `"fallback" names "lost", which is not an endless blank`,
		`{"fallback":"none","guarantee":{"after":1,"prize":"x"}}`:                     `"guarantee.prize" names "x"`,
		`{"fallback":"none","guarantee":{"after":1,"prize":"lost"}}`:                  `"guarantee.prize" names "lost", which is a blank`,
		`{"fallback":"none","limits":[{"of":"prize","prize":"x","max":1}]}`:           `"limits[0].prize" names "x"`,
		`{"fallback":"none","limits":[{"of":"prize","prize":"none","max":1}]}`:        `"limits[0].prize" names "none", an endless blank`,
		`{"low":[{"prize":"x","below":1}]}`:                                           `"low[0].prize" names "x"`,
		`{"fallback":"none","odds":{"of":9,"prizes":{"x":1}}}`:                        `"odds.prizes.x" names "x"`,
		`{"fallback":"none","odds":{"of":9,"prizes":{"gold":1,"silver":1}}}`:          `does not name prize "bronze"; write 0`,
		`{"fallback":"none","odds":{"of":9,"prizes":{"gold":1,"silver":1,"more":0}}}`: `"odds.prizes.more" is an endless blank`,
	} {
		prizes := append(drawtest.Campaign(), draw.Prize{ID: "more", Name: "More", Kind: draw.KindBlank, Stocked: draw.EndlessStock})
		drawtest.Invalid(t, drawtest.Rules(t, document).Check(prizes), says)
	}
	require.NoError(t, drawtest.Rules(t, `{"fallback":"none","odds":{"of":9,"prizes":{"gold":1,"silver":1,"bronze":0,"lost":3}}}`).Check(drawtest.Campaign()))
}

// TestBlanks: a blank has no value, and an endless one keeps its stock.
func TestBlanks(t *testing.T) {
	blank := draw.Prize{ID: "b", Name: "B", Kind: draw.KindBlank, Stocked: 5}
	require.NoError(t, blank.Check())
	require.False(t, blank.IsWin())
	require.False(t, blank.IsEndless())
	blank.Value = decimal.New(1, -2)
	drawtest.Invalid(t, blank.Check(), `value of blank "b" must be 0`)
	odd := draw.Prize{ID: "b", Name: "B", Kind: "ticket"}
	drawtest.Invalid(t, odd.Check(), "must be prize or blank")

	endless := draw.Prize{ID: "b", Name: "B", Kind: draw.KindBlank, Stocked: draw.EndlessStock}
	require.NoError(t, endless.Check())
	more := draw.Stocking{Delta: -1}
	drawtest.Invalid(t, more.Admit(&endless), "is an endless blank")
	more.Delta = draw.EndlessStock - 5
	blank.Value = decimal.Decimal{}
	drawtest.Invalid(t, more.Admit(&blank), "would be endless")
	more.Delta--
	require.NoError(t, more.Admit(&blank))
	require.NoError(t, more.Admit(&draw.Prize{ID: "gold", Stocked: 1 << 40}))
}
