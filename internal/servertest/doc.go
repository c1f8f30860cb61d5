// Package servertest starts throwaway PostgreSQL, MariaDB, Redis, ZooKeeper
// and etcd servers for tests and benchmarks, from the packages of the
// distribution, on free ports of 127.0.0.1 and in temporary folders.
//
// [Postgres], [MySQL], [Redis], [ZooKeeper] and [Etcd] return a URL on a server
// that the whole test process shares and that is started by the first test
// that asks. [Start] starts a private server that a test may kill, pause and
// start again, [StartGalera] and [StartPatroni] clusters of them, [StartStandby]
// a copy that follows one, [StartPgBouncer] a pooler before one. [Chromium] is the
// browser that tests share, each with windows of its own. [StartProxy]
// puts a link between client and server that can be cut, held and counted.
//
// A running server can be named instead, in DRAWSVC_TEST_POSTGRES,
// DRAWSVC_TEST_MYSQL, DRAWSVC_TEST_REDIS, DRAWSVC_TEST_ZOOKEEPER and
// DRAWSVC_TEST_ETCD; private servers are always started here.
//
// It keeps two laws of the tests. Where a server is missing the test is
// skipped loudly, and fails where CI=true: no other place in the repository
// skips a test. And nothing is left behind: a server ends with the test
// process, even one that is killed, and its folder with it.
//
// Servers that are not [Durable] live in /dev/shm where that has 2 GiB to
// spare, all others in TMPDIR. Root starts them as nobody, who then has to be
// able to reach that folder. Where he may not write to it, an empty folder is left.
//
// A goroutine of this package named keep waits for each running server, so a
// test that looks for leaked goroutines has to ignore
// "drawsvc/internal/servertest.(*process).keep".
package servertest
