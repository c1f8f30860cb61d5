// Package seal seals values that a database must not reveal, such as voucher codes. It
// reads the file of seal keys, seals with AES-256-GCM under derived keys, and makes
// digests that find a value without revealing it. It does not depend on a database.
package seal
