// Package ui is the admin page at /ui, and the public pages of fairness at /fair: files
// that are embedded in the program, without a build step and without a library.
//
// The page is static and uses the calls of the HTTP interface with the token of
// its user, in place of pages that the server renders. So it needs no session and no
// cookie, requests cannot be forged, and any instance of a fleet can answer. The
// service still checks the role of each call: the page can do nothing that the token
// cannot do without it. If the page hides something from a role, that is not a
// protection.
//
// The server changes only one word: the operator's name, which the entrance shows before
// anybody signs in.
//
// The token is kept in the tab's sessionStorage: it ends with the tab, and after
// an hour without a key or a click. No script but ours can read it, because
// Policy lets in no other. The page writes text, never markup: Policy makes the browser
// refuse markup from strings (trusted types), because names, users and reasons come
// from callers.
//
// Charts are SVG, drawn by chart.js: less than a hundred lines of ours in place of
// a vendored library, for one kind of chart. The page does not use templ or datastar
// either: the server renders nothing that they could render.
package ui
