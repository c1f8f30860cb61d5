// Package ui is the admin page at /ui: files that are embedded in the program,
// without a build step and without a library.
//
// The page is static and uses the calls of the HTTP interface with the token of
// its user, in place of pages that the server renders. So there is no session, no
// cookie and no forged request, any instance behind a balancer answers, and the
// checks of roles stay where they are: the page can do nothing that the token
// cannot do without it. What it hides from a role is for the eye alone.
//
// The token is kept in the tab's sessionStorage: it ends with the tab, and after
// an hour without a key or a click. No script but ours can read it, because
// Policy lets in no other. The page writes text, never markup: Policy has the
// browser refuse markup from strings (trusted types), and names, users and
// reasons come from callers.
//
// Charts are SVG, drawn by chart.js: less than a hundred lines of ours in place of
// a vendored library, for one kind of chart. For the same reason there is neither
// templ nor datastar: nothing is rendered here that they could render.
package ui
