// Command drawsvc is a prize-draw service whose draws cannot over-issue. It
// wires the rooms of the house together and holds no rule of its own: main
// calls [run], a command or a few of one kind are a file, serve.go is the wiring.
package main
