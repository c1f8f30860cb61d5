package ui

import (
	"embed"
	"html"
	"io/fs"
	"path"
	"strings"

	"drawsvc/docs/verify"
)

//go:embed files/*.html files/*.css files/*.js files/*.svg
var files embed.FS

// Policy is the Content-Security-Policy of the page. It allows the page's own files and
// calls. It forbids inline code, content from other hosts, and markup from strings.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const pageType = "text/html; charset=utf-8"

// File is a file of the page.
type File struct {
	// Type is its Content-Type.
	Type string
	Body []byte
}

// FairFiles returns the names of the files that the page of fairness uses. They have a
// path of their own, so that an operator can keep the admin page from players.
func FairFiles() []string {
	return []string{
		"fair.js", "receipt.js", "rulesmeaning.js", "rulesdiff.js", "rulesfields.js", "words.js", "dom.js",
		"text.js", "text.en.js", "text.de.js", "style.css", "icon.svg", "verify.py", "bls.py",
	}
}

// Named returns the file with the operator's name instead of drawsvc if the file is a
// page. If operator is "", the file keeps drawsvc.
func (f File) Named(operator string) File {
	if operator == "" || f.Type != pageType {
		return f
	}
	name := html.EscapeString(operator)
	put := strings.NewReplacer(`content="drawsvc"`, `content="`+name+`"`, "<title>drawsvc</title>", "<title>"+name+"</title>")
	return File{Type: f.Type, Body: []byte(put.Replace(string(f.Body)))}
}

// Open returns a file by its name, such as index.html. It is a file of the pages, or of
// the verifier to which the page of fairness links.
func Open(name string) (f File, found bool) {
	body, err := fs.ReadFile(files, path.Join("files", path.Base(name)))
	if err != nil {
		body, err = fs.ReadFile(verify.Files, path.Base(name))
	}
	if err != nil {
		return File{}, false
	}
	kinds := map[string]string{
		".html": pageType, ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".py": "text/x-python; charset=utf-8",
	}
	return File{Type: kinds[path.Ext(name)], Body: body}, true
}
