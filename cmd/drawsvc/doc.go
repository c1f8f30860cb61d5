// Command drawsvc is a prize-draw service whose draws cannot over-issue. It
// wires the rooms of the house together and holds no rule of its own: main
// calls [run], each command is one file, serve.go is the wiring.
package main
