package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"drawsvc/internal/api"
)

// The numbers of entries in the exported pool. They are large enough that each export has
// more than one page.
const (
	exportedAwards = 5000
	exportedMoves  = 1200
	exportedDays   = 250
	unitsOfDraw    = 4
)

// hostileTexts returns texts that callers may choose: answers of HTTP, formulas,
// separators of CSV and JSON, and letters of several bytes.
func hostileTexts() []string {
	return []string{
		"HTTP/1.1 417 ", "HTTP/1.1 400 Bad Request", `=cmd|'/C calc'!A0`, `","prize":"gold","x":"`, `a,"b",'c';d|e`, `\`, `\u0000`, `"`, `</script><img src=x>`,
		"ÅÉİıßﬁ", "日本語", "🎁🎁", "-1+1", "null", "'", "data: x", "{}", "[]", "ﾊﾟ\u0301",
	}
}

// hostileText returns one of the texts for a number. It rotates the text, so that it
// may begin at any of its characters, and varies its length. The result has no blank at
// its ends.
func hostileText(i, lengthMax int, isASCII bool) string {
	all := hostileTexts()
	text := []rune(strings.Repeat(all[i%len(all)], 240))
	text = text[i%40:][:1+i%(lengthMax-12)]
	if isASCII {
		for j, r := range text {
			if r > '~' {
				text[j] = '~'
			}
		}
	}
	return "x" + string(text) + "-" + strconv.Itoa(i)
}

// exportedKind is one of the exports: its path, the list of its JSON, and the columns
// that it shares with the rows of the database.
type exportedKind struct {
	name, lines, list string
	columns           []string
}

func exportedKinds() []exportedKind {
	return []exportedKind{
		{"awards", "text/csv", "awards", []string{"version", "draw", "ordinal", "user", "prize", "name", "value", "unit"}},
		{"moves", "text/csv", "moves", []string{"version", "prize", "delta", "reason", "stocked", "issued"}},
		{"log", "application/x-ndjson", "entries", []string{"version", "kind", "draw", "user", "prize", "unit", "delta", "reason"}},
		{"statements", "text/csv", "statements", []string{"day", "prize", "issued", "remaining", "to_version"}},
	}
}

// fetching makes an admin call and returns the body of its answer.
type fetching func(path, accept string) (string, error)

// rows reads an export of one kind in one form, and returns a text for each row.
func (k *exportedKind) rows(fetch fetching, accept string) (rows []string, err error) {
	path := "/admin/pools/hostile/" + k.name
	switch accept {
	case "text/csv":
		return k.ofCSV(fetch(path, accept))
	case "application/x-ndjson":
		return k.ofLines(fetch(path, accept))
	}
	for after := ""; ; {
		body, err := fetch(path+"?limit=1000"+after, accept)
		if err != nil {
			return nil, err
		}
		var page map[string]any
		d := json.NewDecoder(strings.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&page); err != nil {
			return nil, err
		}
		for _, item := range page[k.list].([]any) {
			rows = append(rows, k.row(item.(map[string]any)))
		}
		if page["next"] == nil {
			return rows, nil
		}
		after = "&after=" + fmt.Sprint(page["next"])
	}
}

func (k *exportedKind) ofCSV(body string, err error) (rows []string, _ error) {
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, line := range lines[1:] {
		item := map[string]any{}
		for i, name := range lines[0] {
			item[name] = line[i]
		}
		rows = append(rows, k.row(item))
	}
	return rows, nil
}

func (k *exportedKind) ofLines(body string, err error) (rows []string, _ error) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	for err == nil {
		var item map[string]any
		if err = d.Decode(&item); err == nil {
			rows = append(rows, k.row(item))
		}
	}
	if err == io.EOF {
		err = nil
	}
	return rows, err
}

// row returns the text of the compared columns.
func (k *exportedKind) row(item map[string]any) string {
	var parts []string
	for _, column := range k.columns {
		value := "-"
		if item[column] != nil {
			value = fmt.Sprintf("%q", fmt.Sprint(item[column]))
		}
		parts = append(parts, column+"="+value)
	}
	return strings.Join(parts, " ")
}

// judgeExports returns the faults of a pool's exports: each form of each kind must have
// the rows of the database, and the audit's counts of awards.
func judgeExports(fetch fetching, want map[string][]string, awards map[string]int) (faults []string) {
	for _, k := range exportedKinds() {
		for _, accept := range []string{k.lines, "application/json"} {
			got, err := k.rows(fetch, accept)
			fault := fmt.Sprint(k.name, " as ", accept)
			switch {
			case err != nil:
				faults = append(faults, fmt.Sprint(fault, ": ", err))
			case len(got) != len(want[k.name]):
				faults = append(faults, fmt.Sprint(fault, ": ", len(got), " rows of ", len(want[k.name])))
			case !slices.Equal(got, want[k.name]):
				faults = append(faults, fault+": another row")
			}
			if k.name == "awards" {
				for prize, n := range awards {
					if of := count(got, fmt.Sprintf("prize=%q", prize)); of != n {
						faults = append(faults, fmt.Sprintf("%s: %d awards of %s, and the audit has %d", fault, of, prize, n))
					}
				}
			}
		}
	}
	return faults
}

func count(rows []string, part string) (n int) {
	for _, row := range rows {
		if strings.Contains(row, " "+part+" ") {
			n++
		}
	}
	return n
}

// TestExportsEqualTheAudit: every row of a pool is in each form of its exports, over each
// version of HTTP, even if callers chose hostile texts. The counts equal those of the
// audit. The broken double is an export that drops a page.
func TestExportsEqualTheAudit(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		s := on(t, databaseURL).serve()
		names := fillHostile(t, s, databaseURL)
		want := storedRows(t, databaseURL, names)
		require.Len(t, want["awards"], exportedAwards)
		require.Len(t, want["moves"], exportedMoves+len(names))
		require.Len(t, want["statements"], exportedDays*len(names))

		var audited api.Audit
		require.NoError(t, json.Unmarshal([]byte(s.admin(200, "GET", "/admin/pools/hostile/audit", "")), &audited))
		require.True(t, audited.OK, audited.Violations)
		awards, sum := map[string]int{}, 0
		for _, p := range audited.Prizes {
			awards[p.Prize] = int(p.Awards)
			sum += int(p.Awards)
		}
		require.Equal(t, exportedAwards, sum)
		require.EqualValues(t, len(want["log"]), audited.Version)

		plain := keepBodies(fetchOver(s, true))
		require.Empty(t, judgeExports(plain.fetch, want, awards))
		if !strings.HasPrefix(databaseURL, "sqlite:") {
			return // the transport of an export does not depend on the database
		}
		for name, fetch := range map[string]fetching{"gzip": fetchOver(s, false), "HTTP/1.0": fetchOld(s)} {
			for call, body := range plain.bodies {
				got, err := fetch(call[0], call[1])
				require.NoError(t, err)
				require.True(t, body == got, "%s over %s differs", call, name)
			}
		}
		dropped := strings.Join(judgeExports(dropPage(plain.fetch), want, awards), "\n")
		for _, k := range exportedKinds() {
			for _, accept := range []string{k.lines, "application/json"} {
				require.Contains(t, dropped, k.name+" as "+accept, "the double")
			}
		}
	})
}

// fillHostile fills a pool and returns the names of its prizes by id.
func fillHostile(t *testing.T, s *service, databaseURL string) map[string]string {
	t.Helper()
	names := map[string]string{}
	var prizes []map[string]any
	for i, id := range []string{"gold", "silver", "tin"} {
		names[id] = hostileText(i, 190, false)
		prizes = append(prizes, map[string]any{"id": id, "name": names[id], "value": "19.90", "stock": exportedAwards})
	}
	body, err := json.Marshal(map[string]any{"id": "hostile", "name": "HTTP/1.1 417 ", "state": "open", "prizes": prizes})
	require.NoError(t, err)
	s.admin(201, "POST", "/admin/pools", string(body))

	var all errgroup.Group
	all.SetLimit(40)
	post := func(path, key, token string, body map[string]any) {
		all.Go(func() error {
			text, err := json.Marshal(body)
			if err != nil {
				return err
			}
			headers := []string{"Idempotency-Key", `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`}
			if token != "" {
				headers = append(headers, "Authorization", "Bearer "+token)
			}
			status, answer, err := s.ask("POST", path, string(text), headers...)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%s: %d %s", text, status, answer)
			}
			return err
		})
	}
	drawToken := s.printedToken("draw")
	for i := range max(exportedAwards/unitsOfDraw, exportedMoves) {
		if i < exportedAwards/unitsOfDraw {
			post("/draw", hostileText(i, 120, true), drawToken, map[string]any{"pool": "hostile", "user": hostileText(i, 120, false), "count": unitsOfDraw})
		}
		if i < exportedMoves {
			post("/admin/pools/hostile/prizes/tin/stock", hostileText(i, 120, true), s.token, map[string]any{"delta": 1, "reason": hostileText(i, 190, false)})
		}
	}
	require.NoError(t, all.Wait())

	var lines []string
	for day := range exportedDays {
		for id := range names {
			lines = append(lines, fmt.Sprintf("('hostile', '%s', '%s', %d, 5, '1.00', %d)", time.Date(2025, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), id, day, day))
		}
	}
	tamper(t, databaseURL, "INSERT INTO statements (pool_id, day, prize_id, issued, remaining, value, to_version) VALUES "+strings.Join(lines, ", "))
	return names
}

// storedRows returns the rows of the database by kind, in the form of exportedKind.row.
func storedRows(t *testing.T, databaseURL string, names map[string]string) map[string][]string {
	t.Helper()
	stored := map[string][]string{}
	kinds := exportedKinds()
	db := rows(t, databaseURL)
	read := func(query string, add func(fields []string)) {
		found, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer found.Close()
		columns, err := found.Columns()
		require.NoError(t, err)
		for found.Next() {
			fields, into := make([]string, len(columns)), make([]any, len(columns))
			for i := range fields {
				into[i] = &fields[i]
			}
			require.NoError(t, found.Scan(into...))
			add(fields)
		}
		require.NoError(t, found.Err())
	}
	history := map[int]string{}
	entry := func(kind string, item map[string]any) {
		item["kind"] = kind
		version, err := strconv.Atoi(item["version"].(string))
		require.NoError(t, err)
		require.Empty(t, history[version])
		history[version] = kinds[2].row(item)
	}
	read("SELECT version, draw_id, ordinal, user_id, prize_id, unit FROM awards WHERE pool_id = 'hostile' ORDER BY version", func(f []string) {
		item := map[string]any{"version": f[0], "draw": f[1], "ordinal": f[2], "user": f[3], "prize": f[4], "name": names[f[4]], "value": "19.90", "unit": f[5]}
		stored["awards"] = append(stored["awards"], kinds[0].row(item))
		entry("award", item)
	})
	read("SELECT version, prize_id, delta, reason, stocked, issued FROM moves WHERE pool_id = 'hostile' ORDER BY version", func(f []string) {
		item := map[string]any{"version": f[0], "prize": f[1], "delta": f[2], "reason": f[3], "stocked": f[4], "issued": f[5]}
		stored["moves"] = append(stored["moves"], kinds[1].row(item))
		entry("move", item)
	})
	read("SELECT version FROM changes WHERE pool_id = 'hostile'", func(f []string) { entry("change", map[string]any{"version": f[0]}) })
	for version := range len(history) {
		stored["log"] = append(stored["log"], history[version+1])
	}
	read("SELECT day, prize_id, issued, remaining, to_version FROM statements WHERE pool_id = 'hostile' ORDER BY day, prize_id", func(f []string) {
		stored["statements"] = append(stored["statements"], kinds[3].row(map[string]any{
			"day": f[0][:len(time.DateOnly)], "prize": f[1], "issued": f[2], "remaining": f[3], "to_version": f[4],
		}))
	})
	return stored
}

// kept are the bodies of calls, by path and accepted type.
type kept struct {
	fetch  fetching
	bodies map[[2]string]string
}

func keepBodies(fetch fetching) *kept {
	k := &kept{bodies: map[[2]string]string{}}
	k.fetch = func(path, accept string) (string, error) {
		body, err := fetch(path, accept)
		k.bodies[[2]string{path, accept}] = body
		return body, err
	}
	return k
}

// fetchOver fetches over HTTP/1.1, compressed unless it is plain.
func fetchOver(s *service, plain bool) fetching {
	return func(path, accept string) (string, error) {
		headers := []string{"Authorization", "Bearer " + s.token, "Accept", accept}
		if plain {
			headers = append(headers, "Accept-Encoding", "identity")
		}
		status, body, err := s.ask("GET", path, "", headers...)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s: %d %s", path, status, body)
		}
		return body, err
	}
}

// fetchOld fetches over HTTP/1.0, where the end of the connection ends an answer.
func fetchOld(s *service) fetching {
	return func(path, accept string) (string, error) {
		u, err := url.Parse(s.url)
		if err != nil {
			return "", err
		}
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nAuthorization: Bearer %s\r\nAccept: %s\r\n\r\n", path, s.token, accept); err != nil {
			return "", err
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
		return string(body), err
	}
}

// dropPage is a broken double: exports lack the hundred lines after the first page, and
// pages of JSON continue a hundred versions, or days, too late.
func dropPage(fetch fetching) fetching {
	return func(path, accept string) (string, error) {
		if accept != "application/json" {
			body, err := fetch(path, accept)
			lines := strings.SplitAfter(body, "\n")
			begin := min(501, len(lines)-101)
			return strings.Join(slices.Delete(lines, begin, begin+100), ""), err
		}
		before, after, goesOn := strings.Cut(path, "&after=")
		if n, err := strconv.Atoi(after); goesOn && err == nil {
			return fetch(before+"&after="+strconv.Itoa(n+100), accept)
		}
		body, err := fetch(path, accept)
		if goesOn || !strings.Contains(path, "/statements") {
			return body, err
		}
		day := time.Date(2025, 1, 100, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		return fetch(path+"&after="+day, accept)
	}
}
