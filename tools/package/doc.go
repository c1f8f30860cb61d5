// Package packaging tests what the service is shipped as, from the files that ship it:
// the packages, the unit, the image, the compose file and the chart. It has tests alone,
// in a module of its own, because its tools are larger than the service.
//
// Each test starts what it has unpacked or rendered, as far as one machine without a
// container daemon and without a cluster can. docs/install.md says what that leaves out.
package packaging
