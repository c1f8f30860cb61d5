package servertest

// Option changes how [Start] starts a server.
type Option func(*options)

type options struct {
	durable bool
	roomy   bool
	// archived is set by Archived.
	archived bool
	args     []string
	environ  []string
}

// Durable makes the server write through to the disk before it acknowledges, as in
// production. Without it a server keeps what it acknowledged when it is killed, but not
// when the machine loses power; Redis keeps nothing.
func Durable() Option {
	return func(o *options) { o.durable = true }
}

// Roomy gives PostgreSQL and MariaDB more memory and longer logs than their defaults,
// as is right for many draws. Without it they have less, so that many of them fit on a
// machine.
func Roomy() Option {
	return func(o *options) { o.roomy = true }
}

// Archived makes PostgreSQL archive its log, and MariaDB write a binary log, as in
// production. The archive is not kept.
func Archived() Option {
	return func(o *options) { o.archived = true }
}

// Args adds arguments to the server's command line, where they take precedence over
// those of this package. For ZooKeeper they are lines of its configuration, or options
// of the JVM where they begin with a dash.
func Args(args ...string) Option {
	return func(o *options) { o.args = append(o.args, args...) }
}

// Environ adds variables, NAME=VALUE, to the server's environment.
func Environ(variables ...string) Option {
	return func(o *options) { o.environ = append(o.environ, variables...) }
}
