package ui

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed files/*.html files/*.css files/*.js files/*.svg
var files embed.FS

// Policy is the Content-Security-Policy of the page: its own files and calls,
// nothing inline, nothing from elsewhere, no markup from strings.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// File is a file of the page.
type File struct {
	// Type is its Content-Type.
	Type string
	Body []byte
}

// Open returns a file of the page by its name, such as index.html.
func Open(name string) (f File, found bool) {
	body, err := fs.ReadFile(files, path.Join("files", path.Base(name)))
	if err != nil {
		return File{}, false
	}
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	return File{Type: kinds[path.Ext(name)], Body: body}, true
}
