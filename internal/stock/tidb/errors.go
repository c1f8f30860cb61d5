package tidb

import (
	"errors"

	driver "github.com/go-sql-driver/mysql"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
)

// classify classifies the error numbers of TiDB, and leaves others to MySQL's classify:
// https://docs.pingcap.com/tidb/stable/error-codes. An error of the cluster may follow a
// COMMIT that succeeded, so such a commit is in doubt. A conflict is rolled back.
func classify(err error) *engine.Error {
	e, ok := errors.AsType[*driver.MySQLError](err)
	if !ok {
		return mysql.Classify(err)
	}
	switch e.Number {
	case 8002, 8005, 8022, 9007: // another transaction has written the row since this one began
		return engine.Conflict("write-conflict", err)
	case 8028: // the schema changed while the transaction was open
		return engine.Conflict("schema", err)
	case 8229: // the transaction was open for so long that its locks may have expired
		return engine.Conflict("lock-expired", err)
	case 9004: // waited too long for another transaction's locks
		return engine.Conflict(engine.ReasonLockWait, err)
	case 8027, 8055, 8120, 9001, 9002, 9003, 9005, 9006, 9008, 9010, 9011: // PD, TiKV or a region does not answer, or the server has lost touch with them
		return engine.Unavailable("cluster", err, false)
	case 8175, 8176, 8252: // memory, or the resource group's limit
		return engine.Unavailable("unavailable", err, false)
	case 8501: // the server does not know whether it committed
		return engine.Other("undetermined", err, false)
	}
	return mysql.Classify(err)
}
