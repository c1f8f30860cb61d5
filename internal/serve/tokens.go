package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/access"
)

// tokens holds the tokens of a service: those of its flags, which never change, and
// those of its file, which may change.
type tokens struct {
	own    []access.Token
	file   *reloaded // nil without --tokens
	keeper *access.Keeper
}

// readTokens reads the first set of tokens.
func (c *Config) readTokens() (tokens, error) {
	var t tokens
	if c.adminToken != "" {
		t.own = append(t.own, access.Token{Name: "admin", Role: access.Admin, Digest: access.DigestOf(c.adminToken)})
	}
	if c.drawToken != "" {
		t.own = append(t.own, access.Token{Name: "draw", Role: access.Draw, Digest: access.DigestOf(c.drawToken)})
	}
	set, err := access.NewSet(t.own...)
	if err != nil {
		return t, err
	}
	t.keeper = access.NewKeeper(set)
	if c.tokensFile == "" {
		return t, nil
	}
	own, keeper, public := t.own, t.keeper, c.publicDraw
	t.file = &reloaded{name: "--tokens", paths: []string{c.tokensFile}, warn: t.warnOfUnread, use: func(texts [][]byte) error {
		return useTokens(keeper, own, texts[0], public)
	}}
	if _, err := t.file.readAll(); err != nil {
		return t, fmt.Errorf("--tokens: %w", err)
	}
	return t, nil
}

// useTokens makes the tokens of a file, together with those of the flags, the valid
// ones. An invalid file changes nothing.
func useTokens(k *access.Keeper, own []access.Token, text []byte, publicDraw bool) error {
	found, unread, err := access.ParseFile(text)
	if err != nil {
		return err
	}
	set, err := access.NewSet(slices.Concat(own, found)...)
	if err != nil {
		return err
	}
	set.Unread = unread
	if publicDraw && set.Has(access.Draw) {
		return errors.New("a token of role draw and --public-draw contradict each other")
	}
	k.Replace(set)
	return nil
}

// warnOfUnread logs the entries of the file that are ignored.
func (t *tokens) warnOfUnread(log *slog.Logger) {
	for _, entry := range t.keeper.Set().Unread {
		log.Warn("a token is not valid here: its entry is left out", "flag", "--tokens", "entry", entry)
	}
}

// showUnread adds the gauge of the entries that are ignored.
func (t *tokens) showUnread(r prometheus.Registerer) {
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_tokens_unreadable", Help: "Entries of the token file that are left out, because another release wrote them.",
	}, func() float64 { return float64(len(t.keeper.Set().Unread)) })
}
