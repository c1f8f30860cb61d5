package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

// catching keeps the bytes of the files that a page wants to save, by their names. The
// browser's folder of downloads cannot be used, because all tests share it.
const catching = `(() => {
	const blobs = new Map(), make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
	window.saved = {};
	URL.createObjectURL = (blob) => { const address = make.call(URL, blob); blobs.set(address, blob); return address; };
	HTMLAnchorElement.prototype.click = function () {
		if (!this.download) return click.call(this);
		blobs.get(this.href).arrayBuffer().then((bytes) => { window.saved[this.download] = Array.from(new Uint8Array(bytes), (b) => String.fromCharCode(b)).join(""); });
	};
	return true;
})()`

// download presses a button, and returns the file that is saved.
func (b *browser) download(title, name string) []byte {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`delete window.saved[%q] && document.querySelector('[aria-label="Download %s"]').click() === undefined`, name, title))
	b.await(fmt.Sprintf(`%q in window.saved && !document.querySelector(".files button:disabled")`, name))
	text, err := base64.StdEncoding.DecodeString(eval[string](b, fmt.Sprintf(`btoa(window.saved[%q])`, name)))
	require.NoError(b.t, err)
	return text
}

// opened parses a CSV file. It returns the fields of each line by the names of their
// columns.
func opened(t *testing.T, text []byte, separator rune) (lines []map[string]string) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.Comma = separator
	rows, err := r.ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		line := map[string]string{}
		for i, name := range rows[0] {
			line[name] = row[i]
		}
		lines = append(lines, line)
	}
	return lines
}

// summed adds the amounts in a column. If of is the name of a column, it adds only the
// lines that have value in that column.
func summed(t *testing.T, lines []map[string]string, column, of, value string) string {
	t.Helper()
	sum := decimal.Zero
	for _, line := range lines {
		if of == "" || line[of] == value {
			amount, err := decimal.NewFromString(strings.Replace(line[column], ",", ".", 1))
			require.NoError(t, err)
			sum = sum.Add(amount)
		}
	}
	return sum.StringFixed(2)
}

// TestUIFiles: the page saves winners, payout, days and proof as files. Their sums equal
// those of the pool's awards without the voided ones. The final report shows the same,
// and prints without buttons.
func TestUIFiles(t *testing.T) {
	t.Parallel()
	recipients, identity := keyFiles(t)
	s := shop(t, "--seed-identity-file", identity, "--seed-recipients", recipients, "--origin", "draws.example.org")
	s.admin(http.StatusOK, "POST", "/admin/pools/shop/steps", fmt.Sprintf(`{"award":%d,"to":"fulfilled","reference":"DHL; \"1\""}`, s.wins("u1", 1)[0]))
	s.admin(http.StatusOK, "POST", "/admin/pools/shop/steps", fmt.Sprintf(`{"award":%d,"to":"voided","reason":"fraud"}`, s.wins("u2", 1)[0]))
	s.admin(http.StatusOK, "POST", "/admin/pools/shop/prizes/gold/stock", `{"delta":2,"reason":"more"}`)
	s.wins("=u9", 2)
	s.admin(http.StatusCreated, "POST", "/admin/pools/summer/commitment", `{}`)
	s.admin(http.StatusAccepted, "POST", "/admin/jobs/statement/run", "")

	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	eval[bool](b, catching)
	b.visit("#/pools/shop/files", "Shop win")
	won := opened(t, b.download("Winners", "shop-winners.csv"), ',')
	require.Len(t, won, 7)
	require.Equal(t, "144.40", summed(t, won, "value", "", ""))
	require.Equal(t, "19.90", summed(t, won, "value", "state", "voided"))
	require.Equal(t, "19.90", summed(t, won, "value", "state", "fulfilled"))
	require.Equal(t, `DHL; "1"`, won[0]["reference"])
	require.Equal(t, "=u9", won[6]["user"], "for programs it is exact")
	paid := opened(t, b.download("Payout by user", "shop-payout.csv"), ',')
	require.Equal(t, "124.50", summed(t, paid, "value", "", ""), "less what was voided")
	require.Equal(t, "39.80", summed(t, paid, "open", "user", "=u9"))
	require.Equal(t, "19.90", summed(t, paid, "sent", "", ""))
	days := opened(t, b.download("Daily report", "shop-days.csv"), ',')
	require.Equal(t, "144.40", summed(t, days, "value", "", ""))
	require.Equal(t, "7.00", summed(t, days, "issued", "", ""))

	b.fill("Format", "excel")
	eval[bool](b, `[...document.querySelectorAll("main label")].find((l) => l.textContent === "Decimal comma").control.checked = true`)
	excel := b.download("Winners", "shop-winners.csv")
	require.True(t, bytes.HasPrefix(excel, []byte("\xef\xbb\xbfaward;at;")), "%q", excel[:20])
	won = opened(t, excel, ';')
	require.Equal(t, "19,90", won[0]["value"])
	require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`, won[0]["at"])
	require.Equal(t, "'=u9", won[6]["user"], "no formula")
	require.Equal(t, "144.40", summed(t, won, "value", "", ""))

	b.press("Show")
	b.await(`document.querySelector(".report")`)
	report := eval[string](b, `document.querySelector("main").innerText`)
	for _, part := range []string{"144.40", "Of that, expired or voided\n19.90", "Gold coin", "voided"} {
		require.Contains(t, report, part)
	}
	var printed []byte
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		printed, _, err = cdppage.PrintToPDF().Do(ctx)
		return err
	}), emulation.SetEmulatedMedia().WithMedia("print"))
	require.True(t, bytes.HasPrefix(printed, []byte("%PDF-")))
	require.Zero(t, eval[int](b, `[...document.querySelectorAll("button, nav a, header.top")].filter((e) => e.offsetParent).length`))
	b.do(emulation.SetEmulatedMedia().WithMedia("screen"))

	b.visit("#/pools/summer/files", "Summer party")
	proof := b.download("Proof", "summer-proof.zip")
	archive, err := zip.NewReader(bytes.NewReader(proof), int64(len(proof)))
	require.NoError(t, err)
	var names []string
	for _, file := range archive.File {
		names = append(names, file.Name)
	}
	require.Subset(t, names, []string{"log.jsonl", "commitment", "key", "checkpoint"})
	b.quiet(0)
}
