// Package servertest starts throwaway PostgreSQL, MariaDB, Redis, ZooKeeper and etcd
// servers for tests and benchmarks, from the packages of the distribution, on free
// ports of 127.0.0.1 and in temporary folders.
//
// [Postgres], [MySQL], [Redis], [ZooKeeper] and [Etcd] return a URL on a server that
// the whole test process shares; the first test that needs it starts it. [Start] starts
// a private server that a test may kill, pause and start again, [StartGalera] and
// [StartPatroni] start clusters of them, [StartStandby] a copy that follows a server,
// [StartPgBouncer] a pooler in front of one. [Chromium] is a browser that tests share,
// each with its own windows. [StartProxy] puts a link between client and server that
// can be cut, held and counted.
//
// [Start] also starts [TiDB], which `make bin/tidb-server` builds. With the build tag
// tidb, the servers of MySQL are TiDB.
//
// A running server can be named instead, in DRAWSVC_TEST_POSTGRES, DRAWSVC_TEST_MYSQL,
// DRAWSVC_TEST_REDIS, DRAWSVC_TEST_ZOOKEEPER and DRAWSVC_TEST_ETCD; private servers are
// always started here.
//
// It keeps two laws of the tests. If a server is missing, the test is skipped with a
// visible message; with CI=true it fails. Tests are skipped nowhere else in the
// repository. And nothing is left over: a server ends with the test process, even with
// one that is killed, and its folder is removed.
//
// Servers that are not [Durable] use /dev/shm if it has 2 GiB of free space, all others
// TMPDIR. If root runs the tests, the servers run as the user named nobody, who must be
// able to reach that folder. If that user may not write to it, an empty folder remains.
//
// A goroutine of this package named keep waits for each running server, so a test that
// looks for leaked goroutines has to ignore
// "drawsvc/internal/servertest.(*process).keep".
package servertest
