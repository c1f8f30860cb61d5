package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/access"
	"drawsvc/internal/setting"
)

// tokens are the tokens of a service's flags and files. They are read again when their
// files change.
type tokens struct {
	files  []*reloaded
	keeper *access.Keeper
	// from has the tokens of each flag.
	from       map[string][]access.Token
	unread     []string
	publicDraw bool
}

// ownToken is a flag with a token of its own.
type ownToken struct {
	role   access.Role
	value  string
	secret *setting.Secret
}

// readTokens reads the first set of tokens.
func (c *Config) readTokens() (*tokens, error) {
	t := &tokens{keeper: access.NewKeeper(&access.Set{}), from: map[string][]access.Token{}, publicDraw: c.publicDraw}
	for _, own := range []ownToken{{access.Admin, c.adminToken, &c.adminSecret}, {access.Draw, c.drawToken, &c.drawSecret}} {
		flag := string(own.role) + "-" + setting.TokenFlag
		use := func(text string) error {
			found, err := c.parseOwn(own, flag, text)
			if err != nil {
				return err
			}
			return t.replace(flag, found, t.unread)
		}
		if own.secret.File == "" {
			if err := use(own.value); err != nil {
				return t, err
			}
			continue
		}
		t.follow("--"+flag+setting.FileSuffix, own.secret.File, func(text []byte) error { return use(string(text)) })
	}
	if c.tokensFile != "" {
		t.follow("--tokens", c.tokensFile, func(text []byte) error {
			found, unread, err := access.ParseFile(text)
			if err != nil {
				return err
			}
			return t.replace("tokens", found, unread)
		})
	}
	for _, file := range t.files {
		if _, err := file.readAll(); err != nil {
			return t, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	return t, nil
}

// parseOwn reads the tokens of a flag or its file, one to a line: the first is in use, and
// the others are former ones that are still valid.
func (c *Config) parseOwn(own ownToken, flag, text string) (all []access.Token, err error) {
	for token := range strings.FieldsSeq(text) {
		if err := c.checkToken(flag, token); err != nil {
			return nil, err
		}
		all = append(all, access.Token{Name: string(own.role), Role: own.role, Digest: access.DigestOf(token)})
	}
	if len(all) == 0 && own.secret.File != "" {
		return nil, errors.New("the file is empty")
	}
	return all, nil
}

// follow makes the service use a file's text now, and again whenever it has changed.
func (t *tokens) follow(name, path string, use func(text []byte) error) {
	t.files = append(t.files, &reloaded{name: name, paths: []string{path}, warn: t.warnOfUnread, use: func(texts [][]byte) error { return use(texts[0]) }})
}

// replace replaces the tokens of a flag. The valid tokens are then these and the tokens
// of the other flags. If tokens contradict each other, nothing changes.
func (t *tokens) replace(flag string, found []access.Token, unread []string) error {
	next := maps.Clone(t.from)
	next[flag] = found
	set, err := access.NewSet(slices.Concat(slices.Collect(maps.Values(next))...)...)
	if err != nil {
		return err
	}
	if t.publicDraw && set.Has(access.Draw) {
		return errors.New("a token of role draw and --public-draw contradict each other")
	}
	set.Unread = unread
	t.from, t.unread = next, unread
	t.keeper.Replace(set)
	return nil
}

// warnOfUnread logs the entries of the file that are ignored.
func (t *tokens) warnOfUnread(log *slog.Logger) {
	for _, entry := range t.keeper.Set().Unread {
		log.Warn("a token is not valid here: its entry is left out", "flag", "--tokens", "entry", entry)
	}
}

// show adds the gauges of the entries that are ignored, and of the next token that ends.
func (t *tokens) show(r prometheus.Registerer) {
	f := promauto.With(r)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_tokens_unreadable", Help: "Entries of the token file that are left out, because another release wrote them.",
	}, func() float64 { return float64(len(t.keeper.Set().Unread)) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_token_end_timestamp_seconds", Help: "When the next name in the token file has no valid token any more; +Inf for never.",
	}, func() float64 { return timestamp(t.keeper.Set().NextEnd(time.Now())) })
}

// timestamp returns a time in seconds since 1970, +Inf for the zero time.
func timestamp(at time.Time) float64 {
	if at.IsZero() {
		return math.Inf(1)
	}
	return float64(at.UnixMilli()) / 1e3
}
