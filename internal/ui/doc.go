// Package ui is the admin page at /ui, and the public pages of fairness at /fair. Their
// files are embedded in the program. They have no build step and use no library.
//
// The page is static. It makes calls of the HTTP interface with the token of its user;
// the server renders no pages. So it needs neither a session nor a cookie, other sites
// cannot forge its requests, and any instance of a fleet can answer. The service still
// checks the role of each call: the page can do nothing that the token cannot do without
// it. The page may hide something from a role, but only the service protects it.
//
// The server changes only one word of the page: the operator's name, which the page shows
// even before the sign-in.
//
// The token is kept in the tab's sessionStorage: it is deleted when the tab is closed,
// and after an hour without a keystroke or a click. Only the scripts of the page can
// read it, because Policy allows no others. The page writes text, never markup: Policy
// makes the browser refuse markup from strings (trusted types), because names, users and
// reasons come from callers.
//
// Charts are SVG, drawn by chart.js: less than a hundred lines of our own, instead of a
// vendored library for one kind of chart. The page does not use templ or datastar either:
// the server renders nothing that they could render.
package ui
