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

// Durable makes the server write to the disk before it acknowledges, as in production.
// Otherwise acknowledged data survive if the server is killed, but not if the machine
// loses power. Redis without Durable keeps nothing.
func Durable() Option {
	return func(o *options) { o.durable = true }
}

// Roomy gives PostgreSQL and MariaDB more memory and longer logs than their defaults, for
// tests with many draws. Without it they get less than their defaults, so that one
// machine can run many of them.
func Roomy() Option {
	return func(o *options) { o.roomy = true }
}

// Archived makes PostgreSQL archive its log, and MariaDB write a binary log, as in
// production. The archive is not kept.
func Archived() Option {
	return func(o *options) { o.archived = true }
}

// Args adds arguments to the server's command line. They take precedence over the
// arguments of this package. For ZooKeeper they are lines of its configuration; those
// that begin with a dash are options of the JVM.
func Args(args ...string) Option {
	return func(o *options) { o.args = append(o.args, args...) }
}

// Environ adds variables, NAME=VALUE, to the server's environment.
func Environ(variables ...string) Option {
	return func(o *options) { o.environ = append(o.environ, variables...) }
}
