// Package seal seals what a database must not show, such as voucher codes: the file of
// seal keys, AES-256-GCM under keys that derive from them, and digests that find a value
// again without showing it. It knows no database.
package seal
