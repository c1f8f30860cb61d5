package stage

import (
	"strings"

	"drawsvc/internal/servertest"
)

// proxyPage is where the configuration of nginx stands that users get.
const proxyPage = "docs/reverse-proxy.md"

// StartNginx starts the nginx of the page about reverse proxies in front of the
// instances, as edit changes it, and returns its URL. It passes calls of operators on
// too, as the page allows, because the load moves stock.
func (w *World) StartNginx(edit func(config string) string) string {
	listen := servertest.FreeAddr(w.Site)
	var addresses []string
	for _, i := range w.Instances {
		addresses = append(addresses, i.Address)
	}
	const public = `location ~ ^/(draw$|pools/)`
	config := servertest.WithoutCallerBounds(servertest.NginxOfPage(w.Site, proxyPage, listen, addresses...))
	if !strings.Contains(config, public) {
		w.Site.Fatalf("%s has no %q", proxyPage, public)
	}
	config = strings.Replace(config, public, `location ~ ^/(draw$|pools/|admin/)`, 1)
	servertest.StartNginx(w.Site, listen, edit(config))
	return "http://" + listen
}
