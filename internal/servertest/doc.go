// Package servertest starts throwaway PostgreSQL, MariaDB, Redis, ZooKeeper and etcd
// servers for tests and benchmarks, from the packages of the distribution, on free
// ports of 127.0.0.1 and in temporary folders.
//
// [Postgres], [MySQL], [Redis], [ZooKeeper] and [Etcd] return a URL on a server that the
// whole test process shares. The first test that needs it starts it. [Start] starts a
// private server that a test may kill, pause and start again. [StartGalera] and
// [StartPatroni] start clusters of such servers, [StartStandby] a standby of a server,
// and [StartPgBouncer] a pooler in front of one. [Chromium] is a browser that tests
// share; each test opens its own pages. [StartProxy] puts a link between client and
// server that can be cut, held and counted.
//
// [Start] also starts [TiDB], which `make bin/tidb-server` builds. With the build tag
// tidb, the servers of MySQL are TiDB.
//
// The environment may name a running server instead: DRAWSVC_TEST_POSTGRES,
// DRAWSVC_TEST_MYSQL, DRAWSVC_TEST_REDIS, DRAWSVC_TEST_ZOOKEEPER or DRAWSVC_TEST_ETCD.
// Private servers are always started here.
//
// It keeps two laws of the tests. First, if a server is missing, the test is skipped with
// a visible message; with CI=true it fails. Tests are skipped nowhere else in the
// repository. Second, nothing is left over: when the test process ends or is killed, its
// servers end and their folders are removed.
//
// Servers that are not [Durable] use /dev/shm if it has 2 GiB of free space. All others
// use TMPDIR. If root runs the tests, the servers run as the user nobody, who must be
// able to reach that folder. If that user may not write to it, an empty folder remains.
//
// A goroutine of this package named keep waits for each running server, so a test that
// looks for leaked goroutines has to ignore
// "drawsvc/internal/servertest.(*process).keep".
package servertest
