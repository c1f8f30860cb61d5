// Package packaging tests the built packages, units, image, compose file and chart. It
// contains only tests, in a module of its own, because its tools are larger than the
// service.
//
// Each test starts what it has unpacked or rendered, as far as that is possible on one
// machine without a container daemon and without a cluster. docs/install.md states what
// is not tested.
package packaging
